"""Audits, checks and single attacks from Python, of files, dictionaries and frames: the command line's code."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest

import fedleak
from fedleak.auditing.frames import OF_THE_DATA, OF_THE_PARTITION
from fedleak.auditing.scenario_file import load_scenario
from fedleak.calibration.control_runs import CONTROLS
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import InputError, RunError, ScenarioError
from fedleak.core.finding import Outcome, Severity
from fedleak.protocols import PROTOCOLS
from fedleak.storage import save_view
from fedleak.testing.situations import situation_in

CONTROL = CONTROLS / "residual-sign.toml"
KEY = "00112233445566778899aabbccddeeff"


@pytest.fixture(scope="module")
def frame():
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(as_frame=True).frame


@pytest.fixture(scope="module")
def keywords(frame) -> dict[str, object]:
    """What the control scenario says, in words about the frame."""
    columns = [name for name in frame.columns if name != "target"]
    return {
        "target": "target",
        "parties": {"bank": columns[:18], "fintech": columns[18:]},
        "adversaries": ["fintech"],
        "attacks": ["residual-sign"],
        "scaling": "standard+max-row-norm",
        "max_rows": 60,
        "cipher": "sealed",
        "batch_size": 6,
        "epochs": 1,
        "learning_rate": 0.1,
    }


@pytest.fixture(scope="module")
def report():
    return fedleak.audit(CONTROL, run_key=KEY)


def figures(report) -> list[tuple[object, ...]]:
    return [(finding.attack, finding.outcome, finding.score) for finding in report.findings]


def test_one_scenario_in_four_forms_has_one_outcome(report, frame, keywords) -> None:
    """The audit is called more than once here: no module may have taken the place of the function."""
    raw = tomllib.loads(CONTROL.read_text())
    assert figures(fedleak.audit(raw, run_key=KEY)) == figures(report)
    assert figures(fedleak.audit(load_scenario(CONTROL), run_key=KEY)) == figures(report)
    assert figures(fedleak.audit(frame, run_key=KEY, **keywords)) == figures(report)
    assert report.findings[0].outcome is Outcome.LEAK


def test_the_command_line_gives_the_same(report, tmp_path) -> None:
    from fedleak.cli.main import app

    app(["audit", str(CONTROL), "--run-key", KEY, "--out", str(tmp_path / "out")], standalone_mode=False)
    assert figures(fedleak.load_report(tmp_path / "out")) == figures(report)


def test_what_is_written_can_be_loaded_again(tmp_path) -> None:
    told: list[str] = []
    found = fedleak.audit(
        CONTROL, out=tmp_path / "out", progress=told.append, in_process=True, defenses=["gaussian-noise"]
    )
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "journal.jsonl",
        "report.html",
        "report.json",
        "transcripts",
    }
    for place in (tmp_path / "out", str(tmp_path / "out" / "report.json")):
        assert figures(fedleak.load_report(place)) == figures(found)
    assert told[0] == "vertical-logistic, no-defense ..."
    assert len(told) == 6
    assert {finding.defense for finding in found.findings} == {None, "gaussian-noise"}
    assert "beside the data" in found.environment["attacks"]


def test_a_folder_where_a_report_is_to_be_is_told_before_the_work(tmp_path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=r"out must be a folder that can be written; got .*report\.html"):
        fedleak.audit(CONTROL, out=tmp_path, repeats=1)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_is_a_frame_a_line_and_a_small_table(report) -> None:
    table = report.to_frame()
    assert list(table.columns) == list(report.columns)
    assert table.loc[0, "attack"] == "residual-sign"
    assert table.loc[0, "value"] == report.findings[0].score.value
    assert (
        repr(report).splitlines()[0]
        == "<Report of positive control: residual-sign: severity high: 1 of 1 finding leak>"
    )
    assert repr(report).splitlines()[1].startswith("  residual-sign by fintech on labels of bank: leak (high)")
    assert repr(report.findings[0]).startswith("<Finding residual-sign by fintech on labels of bank: leak (high)")
    assert "<td>residual-sign</td>" in report._repr_html_()
    empty = replace(report, findings=())
    assert list(empty.to_frame().columns) == list(report.columns)
    assert "inconclusive: not one attack gave a measured outcome" in repr(empty)


def test_a_name_cannot_change_what_it_is_shown_in(report) -> None:
    hostile = "<script>alert(1)</script>\x1b[2J\u202e"
    finding = replace(report.findings[0], adversary=(hostile,), why=hostile)
    shown = replace(report, findings=(finding,), scenario={"title": hostile})
    for text in (repr(shown), repr(finding), shown._repr_html_()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in shown._repr_html_()
    assert "&lt;script&gt;" in shown._repr_html_()


def test_claims_that_are_proved_without_a_truth_count(report) -> None:
    claimed = replace(report.findings[0], outcome=Outcome.UNCHECKED, severity=Severity.HIGH, score=None)
    assert "severity high" in repr(replace(report, findings=(claimed,)))


def test_a_check_of_a_frame_is_that_of_the_file(frame, keywords) -> None:
    raw = tomllib.loads(CONTROL.read_text())
    raw["federation"]["partition"]["train_rows"] = 48  # a frame's rows are counted
    by_file, by_frame = fedleak.check(raw), fedleak.check(frame, **keywords)
    (expected,) = by_file.attacks
    assert (expected.attack, expected.verdict) == ("residual-sign", "exact")
    assert [item.verdict for item in by_frame.attacks] == ["exact"]
    assert repr(by_frame).startswith("<Check of a data frame: theory expects of 1 attacks: 1 exact>")
    assert by_frame.to_frame()["expected"].tolist() == ["exact"]
    assert "<td>residual-sign</td>" in by_frame._repr_html_()
    assert json.dumps(by_file.to_json())


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS.own if not p.replays], ids=lambda plugin: plugin.name)
def test_a_frame_does_for_every_protocol(protocol, frame) -> None:
    found = fedleak.check(frame, target="target", parties={"bank": 0.6, "fintech": 0.4}, protocol=protocol.name)
    assert found.attacks
    assert found.theorems


def test_a_setting_has_one_place() -> None:
    """Keywords of a frame go by their names: no setting of a protocol may have that of another table."""
    from dataclasses import fields

    for protocol in PROTOCOLS.own:
        assert not {field.name for field in fields(protocol.settings_type)} & (OF_THE_DATA | OF_THE_PARTITION)


@pytest.mark.parametrize("what", [{"attacks": "residual-sign"}, {"defenses": "gaussian-noise"}])
def test_one_name_is_no_list(what) -> None:
    ((name, value),) = what.items()
    for call in (fedleak.audit, fedleak.check):
        with pytest.raises(InputError, match=rf"{name} must be a list; got '{value}'. Write \['{value}'\]"):
            call(CONTROL, **what)
    with pytest.raises(InputError, match="attacks must be a list"):
        fedleak.audit(transcript="nowhere", attacks="residual-sign")


def test_wrong_input_says_what_to_write(frame, keywords) -> None:
    for wrong, error, match in (
        ({"batch_sise": 3}, ScenarioError, "unknown key 'batch_sise'. Did you mean \"batch_size\""),
        ({"labels": "nobody"}, InputError, r"labels must name one of the parties that hold data \(bank, fintech\)"),
        ({"parties": None}, InputError, "parties must say who holds what"),
        ({"defenses": ["gausian-noise"]}, ScenarioError, r'defenses\[0\]: .*Did you mean "gaussian-noise"'),
    ):
        with pytest.raises(error, match=match):
            fedleak.audit(frame, **{**keywords, **wrong})
    with pytest.raises(InputError, match="target, epochs must be left out unless a data frame is given"):
        fedleak.check(CONTROL, target="y", epochs=3)
    with pytest.raises(InputError, match="must be a path, a dictionary, a Scenario or a data frame; got int"):
        fedleak.check(3)


@pytest.fixture(scope="module")
def view():
    from fedleak.attacks.residuals.residual_sign import ResidualSign

    return situation_in(load_scenario(CONTROL), ResidualSign).view()


def test_one_attack_on_one_view(view, tmp_path) -> None:
    save_view(view, tmp_path / "view")
    apart, stored, here = (
        fedleak.attack(view, "residual-sign"),
        fedleak.attack(tmp_path / "view", "criterion-4.2"),
        fedleak.attack(view, "residual-sign", in_process=True),
    )
    assert apart.status is Status.RECOVERED
    for other in (stored, here):
        assert np.array_equal(apart.values, other.values)
    assert repr(apart).startswith("<Guess of labels of bank: recovered, 48 of 48 cells in 48 rows")


def test_an_attack_that_cannot_answer_says_why(view) -> None:
    with pytest.raises(InputError, match="the view must be about features for gram-inversion; got labels of bank"):
        fedleak.attack(view, "gram-inversion")
    blind = replace(view, messages=(), locals={})
    for in_process in (True, False):
        with pytest.raises(RunError, match="residual-sign has no guess: "):
            fedleak.attack(blind, "residual-sign", in_process=in_process)


def test_a_guess_is_short_in_a_repr(view) -> None:
    guess = Guess(view.target, Status.PARTIAL, np.arange(1), np.array([[np.nan, 1.0]]), why="two\nlines")
    assert repr(guess) == "<Guess of labels of bank: partial, 1 of 2 cells in 1 row, two lines>"


@pytest.mark.parametrize(
    ("view", "name", "told"),
    [
        (None, "residual-sign", "view must be a View, or the folder of one that was saved; got None"),
        (3, "residual-sign", "view must be a View, or the folder of one that was saved; got 3"),
        ("view", None, "name must be the name of an attack, its class or an attack; got None"),
        ("view", dict, "name must be the name of an attack, its class or an attack; got <class 'dict'>"),
    ],
)
def test_what_is_no_view_or_no_attack_is_told_in_one_line(view, name, told) -> None:
    with pytest.raises(InputError) as caught:
        fedleak.attack(view, name)
    assert str(caught.value) == told
