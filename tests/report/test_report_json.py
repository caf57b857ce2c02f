"""JSON: a full round trip, the promised names, and one clear error for everything that is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_report import sample_report

from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.finding import Better, Exhibit, Finding, Outcome, Score
from fedleak.core.report import Report
from fedleak.report import html
from fedleak.report.defense_effect import effects
from fedleak.report.json_format import MAX_CHARACTERS, dumps, loads, read, redact, to_json, write
from fedleak.report.json_keys import SCHEMA_VERSION
from fedleak.report.verdict import statement

PROMISED = {
    *(
        "adversary",
        "mode",
        "attack",
        "secret",
        "defense",
        "outcome",
        "why",
        "metric",
        "value",
        "baseline",
        "better",
        "ci",
    ),
    *("population", "recovery", "ceiling", "budget"),
    *("n", "cells_recovered", "theory", "severity", "seconds", "further_scores", "evidence", "exhibit"),
    *("columns", "claim", "gain_ci", "p_value", "p_corrected", "certificate", "risks"),
}
DELETED = object()


def finding_of(score: Score | None) -> Report:
    report = sample_report()
    return replace(report, findings=(replace(report.findings[0], score=score, further_scores=()),))


WHOLE = dumps(sample_report())
SMALL = dumps(replace(sample_report(), findings=sample_report().findings[:1]))


def changed(*path: str | int, to: object, of: str = WHOLE) -> str:
    """The sample as JSON text with one value replaced, added or deleted."""
    tree: Any = json.loads(of)
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    if to is DELETED:
        del parent[path[-1]]
    else:
        parent[path[-1]] = to
    return json.dumps(tree)


def assert_same_finding(again: Finding, finding: Finding) -> None:
    names = [name for name in Finding.__dataclass_fields__ if name != "exhibit"]
    assert [getattr(again, name) for name in names] == [getattr(finding, name) for name in names]
    assert (again.exhibit is None) == (finding.exhibit is None)
    if again.exhibit is not None and finding.exhibit is not None:
        np.testing.assert_array_equal(again.exhibit.true, finding.exhibit.true)
        np.testing.assert_array_equal(again.exhibit.guessed, finding.exhibit.guessed)


def test_a_report_survives_the_round_trip() -> None:
    report = sample_report()
    again = loads(dumps(report))
    assert again.scenario == report.scenario
    assert again.environment == report.environment
    assert again.runs == report.runs
    assert again.remedies == report.remedies
    assert (again.run_key, again.repeats, again.interrupted) == (report.run_key, report.repeats, False)
    assert len(again.findings) == len(report.findings)
    for new, old in zip(again.findings, report.findings, strict=True):
        assert_same_finding(new, old)
    assert dumps(again) == dumps(report)


def test_the_sample_has_every_outcome() -> None:
    assert {finding.outcome for finding in sample_report().findings} == set(Outcome)


def test_the_promised_names_are_there() -> None:
    tree = to_json(sample_report())
    assert list(tree) == [
        *("schema_version", "verdict", "repeats", "run_key", "scenario", "environment", "runs", "findings", "remedies"),
        *("for_other_protocols", "interrupted", "reduced"),
    ]
    assert tree["schema_version"] == SCHEMA_VERSION == 2
    findings, runs = tree["findings"], tree["runs"]
    assert isinstance(findings, list)
    assert isinstance(runs, list)
    for finding in findings:
        assert isinstance(finding, dict)
        assert set(finding) == PROMISED
    for run in runs:
        assert isinstance(run, dict)
        assert set(run) == {"defense", "deviation", "utility", "seconds", "notes", "baselines"}
    first: Any = findings[0]
    assert first["secret"] == {"kind": "labels", "owner": "bank"}
    assert first["ci"] == [0.9935, 1.0]
    assert first["severity"] == "high"
    assert first["theory"]["verdict"] == "exact"
    assert first["evidence"]["batches solved"] == "144 of 144"


def test_a_missing_score_is_null_and_comes_back_as_none() -> None:
    tree: Any = to_json(finding_of(None))
    written = tree["findings"][0]
    assert [written[name] for name in ("metric", "value", "baseline", "better", "ci", "n")] == [None] * 6
    assert loads(dumps(finding_of(None))).findings[0].score is None


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(value=FINITE, baseline=FINITE, bounds=st.tuples(FINITE, FINITE).map(sorted), n=st.integers(0, 10**12))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_the_figures_of_a_score_survive(value: float, baseline: float, bounds: list[float], n: int) -> None:
    score = Score("mse", value, baseline, Better.LOWER, (bounds[0], bounds[1]), n)
    assert loads(dumps(finding_of(score))).findings[0].score == score


def test_unguessed_cells_and_shapes_of_an_exhibit_survive() -> None:
    report = sample_report()
    exhibit = Exhibit(np.arange(12.0).reshape(3, 2, 2), np.array([nan, inf, *range(10)], dtype=float).reshape(3, 2, 2))
    again = loads(dumps(replace(report, findings=(replace(report.findings[0], exhibit=exhibit),)))).findings[0].exhibit
    assert again is not None
    np.testing.assert_array_equal(again.true, exhibit.true)
    assert np.isnan(again.guessed.ravel()[:2]).all()
    assert not again.guessed.flags.writeable


def test_evidence_of_one_name_is_joined_not_lost() -> None:
    report = sample_report()
    twice = replace(report.findings[0], evidence=(("rank", "3"), ("rank", "4")))
    assert loads(dumps(replace(report, findings=(twice,)))).findings[0].evidence == (("rank", "3; 4"),)


def test_a_scenario_that_is_not_json_is_named_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"scenario\.data\.rows\[1\] must be a JSON value; got set"):
        dumps(replace(sample_report(), scenario={"data": {"rows": [1, {2}]}}))


def test_redaction_drops_the_runs_key_wherever_it_stands() -> None:
    report = sample_report()
    told = {"command": f"fedleak audit --run-key {report.run_key}", "seed": 3}
    whole = replace(report, environment={**report.environment, **told})
    assert dumps(whole).count(str(report.run_key)) == 2
    bare = redact(whole)
    assert str(report.run_key) not in dumps(bare)
    assert to_json(bare)["run_key"] is None
    assert bare.environment["seed"] == 3


def test_redaction_drops_every_true_value_and_nothing_else() -> None:
    report = sample_report()
    assert any(finding.exhibit is not None for finding in report.findings)
    bare = redact(report)
    assert all(finding.exhibit is None for finding in bare.findings)
    assert [finding.score for finding in bare.findings] == [finding.score for finding in report.findings]
    assert bare.scenario == report.scenario


HOSTILE = {
    "a newer schema": (changed("schema_version", to=3), "schema_version must be at most 2; got 3"),
    "an older schema": (changed("schema_version", to=1), "unknown key 'interrupted'"),
    "schema zero": (changed("schema_version", to=0), "schema_version must be"),
    "a schema that is text": (changed("schema_version", to="1"), "schema_version must be"),
    "no schema": (changed("schema_version", to=DELETED), "schema_version"),
    "an unknown key": (changed("findings", 2, "atack", to=1), r"findings\[2\]: unknown key 'atack'.*\"attack\""),
    "an unknown key on top": (changed("extra", to=1), "unknown key 'extra'"),
    "a missing key": (
        changed("findings", 1, "why", to=DELETED),
        r"findings\[1\]: the key 'why' is missing; the reason",
    ),
    "findings that are an object": (
        changed("findings", to={}),
        "findings must be a list of objects; got an object with 0",
    ),
    "a scenario that is a list": (changed("scenario", to=[]), "scenario must be an object; got a list"),
    "a nested environment": (changed("environment", "seed", to=[1]), r"environment\.seed must be"),
    "a value that is text": (changed("findings", 0, "value", to="1.0"), r"findings\[0\]\.value must be a number"),
    "a value that is a boolean": (changed("findings", 0, "value", to=True), r"value must be a number; got true"),
    "an enormous integer": (changed("findings", 0, "value", to=10**400), "integers must fit in 1024 bits"),
    "a figure without a metric": (changed("findings", 0, "metric", to=None), r"value must be null where metric"),
    "half a score": (changed("findings", 0, "ci", to=None), r"findings\[0\]: ci must be given where metric is"),
    "three bounds": (changed("findings", 0, "ci", to=[1, 2, 3]), r"ci must be a list of 2 numbers; got a list of 3"),
    "bounds the wrong way": (changed("findings", 0, "ci", to=[2, 1]), r"ci must be \[low, high\]"),
    "a negative count": (changed("findings", 0, "n", to=-1), r"findings\[0\]\.n must be at least 0; got -1"),
    "a share over one": (
        changed("findings", 0, "cells_recovered", to=1.5),
        r"findings\[0\]\.cells_recovered must be from 0 to 1",
    ),
    "an unknown outcome": (changed("findings", 0, "outcome", to="fine"), "outcome must be one of leak, no_leak"),
    "an unknown severity": (changed("findings", 0, "severity", to="extreme"), "severity must be one of none, low"),
    "an unknown secret": (changed("findings", 0, "secret", "kind", to="x"), r"secret\.kind must be one of labels"),
    "a secret that is text": (changed("findings", 0, "secret", to="labels"), r"secret must be an object"),
    "no adversary": (
        changed("findings", 0, "adversary", to=[]),
        r"findings\[0\]\.adversary must be a list of at least 1; got a list of 0",
    ),
    "negative seconds": (changed("runs", 0, "seconds", to=-1), r"runs\[0\]\.seconds must be"),
    "utility that is text": (changed("runs", 0, "utility", "accuracy", to="high"), r"runs\[0\]\.utility\.accuracy"),
    "a ragged exhibit": (
        changed("findings", 0, "exhibit", "true", to=[[1], [1, 2]]),
        "exhibit.true must be numbers in",
    ),
    "an exhibit of text": (changed("findings", 0, "exhibit", "true", to=["1"]), r"exhibit\.true\[0\] must be a number"),
    "an uneven exhibit": (
        changed("findings", 0, "exhibit", "true", to=[1, 2]),
        "exhibit: Exhibit guessed must have the shape",
    ),
    "a deep exhibit": (
        changed("findings", 0, "exhibit", "true", to=[[[[[1]]]]]),
        r"exhibit\.true\[0\]\[0\]\[0\]\[0\] must be a number, at most 4 axes deep",
    ),
    "a bare further score": (
        changed("findings", 0, "further_scores", 0, to={}),
        r"further_scores\[0\]: the key 'metric' is missing",
    ),
    "deep nesting": (changed("scenario", to=json.loads('{"a":' * 60 + "1" + "}" * 60)), "nested at most"),
    "nesting without end": ("[" * 200_000, "the report must not be nested this deep"),
    "a score without its figure": (
        dumps(sample_report()).replace('"value": 1.0', '"value": null', 1),
        "value must be given where metric is; got null",
    ),
    "NaN": (dumps(sample_report()).replace('"value": 1.0', '"value": NaN', 1), "numbers must be finite; got NaN"),
    "a number that overflows": (
        changed("scenario", to=1).replace('"scenario": 1', '"scenario": {"a": 1e999}'),
        "numbers must fit in a double; got '1e999'",
    ),
    "a key twice": (
        '{"schema_version": 1, "schema_version": 1}',
        "keys must differ; got 'schema_version' more than once",
    ),
    "half a surrogate pair": (
        changed("remedies", 0, "sentence", to="\ud800"),
        r"remedies\[0\]\.sentence must be Unicode",
    ),
    "half a pair in a key": (changed("scenario", to={"\ud800": 1}), "scenario must be Unicode"),
    "a text without end": (changed("findings", 0, "why", to="x" * 2**21), r"why must have at most 1048576 characters"),
    "no repeats": (changed("repeats", to=0), "repeats must be at least 1; got 0"),
    "a wrong verdict": (changed("verdict", "level", to="leek"), "verdict.level must be one of leak.*Did you mean"),
    "a column without a name": (changed("findings", 6, "columns", 0, "column", to=1), r"columns\[0\]\.column must be"),
    "a confidence over one": (changed("findings", 6, "claim", "confidence", to=2), "confidence must be from 0 to 1"),
    "a certificate of numbers": (changed("findings", 0, "certificate", to=1), r"findings\[0\]\.certificate must be"),
    "an endless integer": ('{"schema_version": ' + "9" * 5000 + "}", "integers must fit in 1024 bits"),
    "not JSON": ("{", "must be JSON"),
    "nothing": ("", "must be JSON"),
    "a list": ("[]", "the report must be an object; got a list"),
    "too long a text": (" " * (MAX_CHARACTERS + 1), "must be at most"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_gives_one_error_that_names_the_place(name: str) -> None:
    text, message = HOSTILE[name]
    with pytest.raises(FileFormatError, match=message) as caught:
        loads(text)
    assert len(str(caught.value)) < 600


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "path", [("findings",), ("findings", 0, "ci"), ("findings", 0, "exhibit"), ("runs",), ("scenario",)]
)
@given(value=JSON_VALUES)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_any_value_is_refused_or_can_be_shown(path: tuple[str | int, ...], value: object) -> None:
    try:
        report = loads(changed(*path, to=value, of=SMALL))
    except FileFormatError:
        return
    assert html.render(loads(dumps(report))) == html.render(report)


def test_writing_leaves_the_whole_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("an older report")
    write(sample_report(), path)
    assert dumps(read(path)) == dumps(sample_report())
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


def test_a_failed_write_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("an older report")
    broken = replace(sample_report(), scenario={"a": {1, 2}})
    with pytest.raises(TypeError):
        write(broken, path)
    assert path.read_text() == "an older report"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a file that can be written"):
        write(sample_report(), tmp_path / "file" / "report.json")
    write(sample_report(), tmp_path / "new" / "report.json")
    assert (tmp_path / "new" / "report.json").is_file()


def test_a_name_that_is_not_unicode_does_not_lose_the_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write(replace(sample_report(), scenario={"name": "caf\udce9.toml"}), path)
    assert read(path).scenario["name"] == "caf?.toml"


def test_reading_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with pytest.raises(FileFormatError, match=r"report\.json must be a report that can be read"):
        read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match=r"report\.json must be JSON in UTF-8"):
        read(path)
    path.write_text("[]")
    with pytest.raises(FileFormatError, match=r"report\.json: the report must be an object"):
        read(path)
    with path.open("wb") as file:
        file.truncate(4 * MAX_CHARACTERS + 1)
    with pytest.raises(FileFormatError, match="bytes"):
        read(path)


SAMPLE_1 = Path(__file__).parent / "samples" / "report_version_1.json"


def test_a_report_of_version_1_still_loads() -> None:
    old = json.loads(SAMPLE_1.read_text(encoding="utf-8"))
    assert old["schema_version"] == 1
    report = read(SAMPLE_1)
    assert report.run_key == old["environment"]["run_key"]
    assert "run_key" not in report.environment
    assert list(report.advice) == old["advice"]
    assert report.repeats == 1
    again: Any = to_json(report)
    for new, before in zip(again["findings"], old["findings"], strict=True):
        if new["exhibit"]:  # example rows came later
            assert new["exhibit"].pop("examples") is None
        for score in new["further_scores"]:  # paired gains and chances came later
            assert (score.pop("gain_ci"), score.pop("p_value")) == (None, None)
        assert {name: new[name] for name in before} == before  # all of version 1, unchanged
        assert (new["columns"], new["claim"], new["certificate"]) == ([], None, None)
    for new, before in zip(again["runs"], old["runs"], strict=True):
        assert {name: new[name] for name in before} == before
    assert again["scenario"] == old["scenario"]
    assert dumps(loads(dumps(report))) == dumps(report)
    assert str(report.run_key) not in dumps(redact(report))


def test_a_report_of_version_1_is_drawn() -> None:
    page = html.render(read(SAMPLE_1))
    assert "residual-sign" in page
    assert "gaussian-noise(sigma=12.0)" in page


def test_a_report_from_before_attacks_were_left_out_is_still_read() -> None:
    old = json.loads(SAMPLE_1.read_text(encoding="utf-8"))
    assert loads(json.dumps(old)).for_other_protocols == tuple(old["for_other_protocols"]) != ()
    del old["for_other_protocols"]
    assert loads(json.dumps(old)).for_other_protocols == ()


def test_the_verdict_is_what_the_page_says() -> None:
    report = sample_report()
    verdict: Any = to_json(report)["verdict"]
    assert (verdict["level"], verdict["severity"]) == ("leak", "high")
    assert verdict["headline"] == statement(report).headline
    clean = replace(report, findings=tuple(f for f in report.findings if f.outcome is Outcome.NO_LEAK))
    silent = replace(report, findings=tuple(f for f in report.findings if f.outcome is Outcome.SKIPPED))
    levels: list[Any] = [to_json(one)["verdict"] for one in (clean, silent)]
    assert [(one["level"], one["severity"]) for one in levels] == [("no_leak", "none"), ("inconclusive", "none")]


def test_a_verdict_and_figures_of_remedies_are_computed_and_not_believed() -> None:
    doubted = loads(changed("verdict", "headline", to="Nothing leaks."))
    assert dumps(doubted) == WHOLE
    assert dumps(loads(changed("remedies", 2, "stops", to=7))) == WHOLE


def test_a_remedy_says_how_well_its_defense_did() -> None:
    report = sample_report()
    first, _, last = to_json(report)["remedies"]  # type: ignore[misc]
    assert [first[name] for name in ("defense", "stops", "of", "utility_change")] == [None] * 4
    effect = next(effect for effect in effects(report) if effect.defense == last["defense"])
    assert (last["stops"], last["of"]) == (effect.n_stopped, effect.n_tried) == (1, 2)
    assert last["rules_out"] == 0
    assert last["utility_change"] == {
        "metric": "test_accuracy",
        "without": 0.9649,
        "with_defense": 0.9649,
        "baseline": 0.627,
    }


def test_redaction_keeps_columns_claims_and_certificates() -> None:
    report = sample_report()
    for bare, whole in zip(redact(report).findings, report.findings, strict=True):
        assert (bare.columns, bare.claim, bare.certificate) == (whole.columns, whole.claim, whole.certificate)


def test_a_figure_of_a_column_that_is_not_finite_is_null() -> None:
    report = sample_report()
    column = replace(report.findings[6].columns[0], correlation=nan)
    again = loads(dumps(replace(report, findings=(replace(report.findings[6], columns=(column,)),))))
    assert again.findings[0].columns[0].correlation is None
