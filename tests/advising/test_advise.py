"""The advisor on tiny federations: what it recommends was audited, closes, and can be pasted."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_federation import TINY

import fedleak
from fedleak.advising.advice import Advice, base_of
from fedleak.advising.front_picture import front_file
from fedleak.advising.measured import Bench
from fedleak.auditing.scenario_file import load_scenario, parse_scenario
from fedleak.cli.advise import write_mended
from fedleak.cli.main import app
from fedleak.core.errors import InputError
from fedleak.data import load_table
from scenarios import KEY, changed

MOST = 14


@pytest.fixture(scope="module")
def advice() -> Advice:
    return fedleak.advise(parse_scenario(TINY), max_audits=MOST, run_key=str(KEY), jobs=1)


def test_the_first_closes_what_leaked_and_leaves_a_useful_model(advice: Advice) -> None:
    best = advice.remedies[0]
    assert advice.leaks
    assert advice.closes
    assert best.confirmed
    assert not best.leak_left
    assert not best.unanswered
    assert not best.cost.worthless
    assert {f"{left.secret} to fintech (passive)" for left in advice.leaks} == set(best.breaks)
    assert best.cost.after is not None
    assert best.cost.after.baseline is not None
    assert best.cost.after.value > best.cost.after.baseline + 0.05
    assert len(advice.remedies) <= 3
    worths = [one.cost.after.value for one in advice.remedies if one.closes and one.cost.after]
    assert worths == sorted(worths, reverse=True)


def test_an_edit_pasted_over_the_scenario_is_the_scenario_that_was_audited(advice: Advice) -> None:
    for remedy in advice.remedies:
        edit = tomllib.loads(remedy.change.edit)
        settings = remedy.change.scenario.settings
        for key, value in edit.get("federation", {}).items():
            assert getattr(settings, key) == value
        assert [one["name"] for one in edit.get("defense", [])] == [one.name for one in remedy.change.scenario.defenses]


def test_what_is_computed_on_shares_is_no_ideal_functionality(advice: Advice) -> None:
    for remedy in advice.remedies:
        assert remedy.change.ideal == ()
        assert not any("ideal functionality" in line for line in remedy.lines())


def test_what_no_attack_could_try_is_not_called_measured(advice: Advice) -> None:
    on_shares = [one for one in advice.remedies if 'gradients = "secret-shared"' in one.change.edit]
    assert on_shares
    for remedy in on_shares:
        assert remedy.closes
        assert remedy.not_measured == remedy.breaks
        assert any(line.startswith("by argument, not by measurement: ") for line in remedy.lines())
    for remedy in advice.remedies:
        assert remedy in on_shares or not remedy.not_measured
        assert remedy.to_json()["not_measured"] == list(remedy.not_measured)


def test_theory_saves_runs_and_no_more_audits_than_wanted_are_made(advice: Advice) -> None:
    assert advice.n_ruled_out > 0
    assert 1 < advice.n_audits <= MOST
    # More rows in a batch than there are rows is never told.
    batches = [tomllib.loads(point.edit).get("federation", {}).get("batch_size", 1) for point in advice.points]
    assert max(batches) <= 48


def test_the_front_is_what_nothing_beats_in_both(advice: Advice) -> None:
    places = {(point.leak, point.usefulness) for point in advice.points}
    unbeaten = {
        place
        for place in places
        if not any(leak <= place[0] and useful >= place[1] and (leak, useful) != place for leak, useful in places)
    }
    assert {(point.leak, point.usefulness) for point in advice.points if point.on_front} == unbeaten
    drawn = str(front_file(advice))
    assert drawn.startswith("<svg xmlns=")
    assert drawn.count("<circle") == len(advice.points)


def test_named_attacks_are_no_limit_and_own_defenses_are_left_out() -> None:
    scenario = parse_scenario(TINY)
    named = tuple(replace(one, attacks=("residual-sign",)) for one in scenario.adversaries)
    base = base_of(replace(scenario, adversaries=named))
    assert base.defenses == ()
    assert all(one.attacks == () for one in base.adversaries)


def test_the_scenario_that_is_written_reads_again(advice: Advice, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.toml"
    write_mended(advice, fixed)
    assert replace(load_scenario(fixed), folder=None) == advice.remedies[0].change.scenario


def test_the_command_says_where_nothing_closes_and_writes_no_scenario(tmp_path: Path) -> None:
    source, fixed, picture = tmp_path / "s.toml", tmp_path / "fixed.toml", tmp_path / "front.svg"
    source.write_text(TINY)
    words = ["advise", str(source), "--write", str(fixed), "--picture", str(picture)]
    done = CliRunner().invoke(app, [*words, "--max-audits", "2", "--jobs", "1", "--run-key", str(KEY)])
    assert done.exit_code == 0, done.output
    assert "nothing that was tried closes every leak" in done.output
    assert not fixed.exists()
    assert picture.read_text().startswith("<svg xmlns=")


def test_too_few_audits_are_told() -> None:
    with pytest.raises(InputError, match="max_audits must be at least 2"):
        fedleak.advise(parse_scenario(TINY), max_audits=1)


def test_an_attack_that_another_protocol_leaves_nothing_to_is_no_open_question() -> None:
    """Scores that are sent to validate: training on shares sends none, and knows no such attack."""
    arbiter = changed(
        (
            'protocol = "vertical-logistic"',
            'protocol = "vertical-logistic-arbiter"\nvalidate_every = 1\ninitialisation = "normal"',
        ),
        ("max_rows = 100", "max_rows = 30"),
        ("epochs = 4", "epochs = 3"),
        ('[[adversary]]\nparties = ["fintech"]\n', '[[federation.parties]]\nname = "notary"\nrole = "arbiter"\n'),
    )
    base = base_of(parse_scenario(arbiter))
    bench = Bench(base, load_table(base.data), KEY, repeats=1, jobs=1, n_models=1)
    leaks = [one for one in bench.measure(base, bench.planned(base), ()).report.findings if one.is_shown]
    assert "validation-scores" in {one.attack for one in leaks}
    on_shares = parse_scenario(changed(
        ('protocol = "vertical-logistic"', 'protocol = "vertical-logistic"\ngradients = "secret-shared"'),
        ("max_rows = 100", "max_rows = 30"),
        ("epochs = 4", "epochs = 3"),
        ('[[adversary]]\nparties = ["fintech"]\n', ""),
    ))  # fmt: skip
    shared = base_of(on_shares)
    found = bench.measure(shared, bench.planned(shared), leaks)
    assert found.closes
    assert set(found.unmeasured) == set(found.closed) == {(one.adversary, one.mode, one.secret) for one in leaks}
