"""What is measured, and what a calibration says of a decision that is good, blind or trigger-happy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from fedleak.attacks import ATTACKS
from fedleak.calibration import blocks, stopping, suite
from fedleak.calibration.blocks import ControlBlock, StageBlock
from fedleak.calibration.control_runs import controls_of
from fedleak.calibration.journal import Journal
from fedleak.calibration.stages import LEAKING, STAGES, UNCALIBRATED
from fedleak.calibration.suite import Wanted, calibrate
from fedleak.calibration.tally import Calibration, Tally, added, pooled
from fedleak.core.errors import InputError, RunError, UnknownNameError
from fedleak.core.finding import Finding, Outcome
from fedleak.trial.attempt import Attempt
from fedleak.trial.decide import Question, decide
from fedleak.trial.progress import Silent

FEW = Wanted(("own-weights",), ("binary",), seeds=16, repeats=1)


def measure(decision: blocks.Decision, wanted: Wanted = FEW, path: Path | None = None) -> suite.Measured:
    return calibrate(wanted, Journal(path), Silent(), decision=decision)


def trigger_happy(question: Question, attempts: Sequence[Attempt]) -> Finding:
    """Any gain is a leak: an interval without width."""
    found = decide(question, attempts)
    return replace(found, outcome=Outcome.LEAK) if found.score and found.score.gain > 0 else found


def blind(question: Question, attempts: Sequence[Attempt]) -> Finding:
    return replace(decide(question, attempts), outcome=Outcome.NO_LEAK)


def test_the_audits_decision_passes() -> None:
    found = measure(decide).calibration
    assert [tally.seeds for tally in found.false_leaks] == [16, 16]
    assert all(tally.answered == tally.seeds for tally in found.false_leaks)
    assert not found.broken


def test_a_decision_that_cries_wolf_is_caught() -> None:
    broken = measure(trigger_happy).calibration.broken
    assert any(line.startswith("own-weights on binary, n = 2: a leak in") for line in broken)


def test_a_decision_that_is_blind_is_caught() -> None:
    controls = Wanted(("residual-sign",), seeds=2, repeats=1)
    power = [block for block in controls.blocks() if isinstance(block, ControlBlock)]
    tallies = [tally for block in power for tally in block.measured(blind)]
    assert Calibration((), tuple(tallies)).broken
    assert not Calibration((), tuple(tally for block in power for tally in block.measured(decide))).broken


@pytest.mark.parametrize("n", [2, 5])
def test_a_label_that_is_right_by_luck_makes_no_leak_of_its_residuals(n: int) -> None:
    """With two rows every other guess has both labels, and is near the residuals of all rounds then."""
    block = StageBlock(first=0, count=6, repeats=2, stage="labels", table="normal", n=n, attacks=("residual-recovery",))
    (found,) = block.measured()
    assert found.outcomes == {Outcome.NO_LEAK: 6}


def test_searches_take_the_steps_that_their_stage_gives_them() -> None:
    for stage in STAGES:
        assert {one.name for one in stage.shorter} <= set(stage.slow)
    spent = []

    def noted(question: Question, attempts: Sequence[Attempt]) -> Finding:
        spent.extend(attempt.guess.evidence["evaluations"] for attempt in attempts)
        return decide(question, attempts)

    places = {"stage": "gradients that are matched", "table": "normal", "n": 2, "attacks": ("deep-leakage",)}
    StageBlock(first=0, count=1, repeats=2, **places).measured(noted)
    assert len(spent) == 2
    assert max(spent) <= 240 // 2  # pictures x evaluations


def test_the_column_that_leaks_is_named_among_ten_constant_ones() -> None:
    stage = next(stage for stage in LEAKING if stage.leaking)
    places = {"stage": stage.name, "table": "skewed", "n": 100, "attacks": ("equality-projection",)}
    (found,) = StageBlock(first=0, count=3, repeats=2, **places).measured()
    assert found.share == 1

    def names_another(question: Question, attempts: Sequence[Attempt]) -> Finding:
        said = decide(question, attempts)
        return replace(said, columns=tuple(replace(column, leaks=True) for column in said.columns))

    (wrong,) = StageBlock(first=0, count=3, repeats=2, **places).measured(names_another)
    assert wrong.share == 0


def test_every_attack_of_ours_has_a_stage_and_a_control() -> None:
    tried = {name for stage in STAGES for name in stage.attacks}
    assert not tried & set(UNCALIBRATED)
    assert {attack.name for attack in ATTACKS.own} == tried | set(UNCALIBRATED)
    assert all(controls_of(attack) for attack in ATTACKS.own)


@pytest.mark.parametrize("stage", [*STAGES, *LEAKING], ids=lambda stage: stage.name)
def test_a_stage_plans_its_attacks(stage) -> None:
    for table, n in stage.cells():
        runs = blocks.planned_runs(stage.name, table, n)
        planned = {task.attack.name for run in runs for task in run.tasks if task.skip is None}
        assert set(stage.attacks) <= planned


def test_slow_attacks_get_fewer_seeds() -> None:
    found = [block for block in Wanted(tables=("constant",)).blocks() if isinstance(block, StageBlock)]
    seeds = {name: 0 for block in found for name in block.attacks}
    for block in found:
        for name in block.attacks if not block.leaks else ():
            seeds[name] += block.count
    assert (seeds["rotation-matching"], seeds["prediction-queries"]) == (60, 400)


def test_the_first_seeds_of_all_cells_come_first() -> None:
    firsts = [block.first for block in Wanted(("own-weights",), seeds=50).blocks()]
    assert firsts == sorted(firsts)
    assert set(firsts) == {0, 20, 40}


def test_an_interruption_keeps_what_was_measured(tmp_path, monkeypatch) -> None:
    journal = tmp_path / "journal.jsonl"
    real = StageBlock.measured

    def interrupted(block, decision=decide):
        if block.n == 20:
            raise KeyboardInterrupt
        return real(block, decision)

    monkeypatch.setattr(StageBlock, "measured", interrupted)
    first = measure(decide, path=journal)
    assert not first.complete
    assert [tally.n for tally in first.calibration.false_leaks] == [2]
    monkeypatch.setattr(
        StageBlock, "measured", lambda block, decision: real(block, decision) if block.n == 20 else 1 / 0
    )
    second = measure(decide, path=journal)
    assert second.complete
    assert [tally.n for tally in second.calibration.false_leaks] == [2, 20]


def test_a_line_that_was_cut_off_is_measured_again(tmp_path) -> None:
    journal = tmp_path / "journal.jsonl"
    measure(decide, replace(FEW, seeds=1), journal)
    whole = journal.read_text()
    journal.write_text(whole[:-30])
    assert measure(decide, replace(FEW, seeds=1), journal).complete
    again = journal.read_text().splitlines()
    assert len(again) == len(whole.splitlines())
    assert again[:-1] == whole.splitlines()[:-1]


@pytest.mark.parametrize("text", ["", "not json\n", '{"code": "other"}\n', '{"no": 1}\n'])
def test_a_file_that_is_no_journal_of_this_code_is_refused(tmp_path, text: str) -> None:
    (tmp_path / "journal.jsonl").write_text(text)
    with pytest.raises(InputError, match="--out must"):
        Journal(tmp_path / "journal.jsonl")


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownNameError, match="unknown table 'norml'"):
        Wanted(tables=("norml",))
    with pytest.raises(UnknownNameError, match="unknown attack"):
        Wanted(attacks=("nothing",))


def test_a_run_that_fails_is_counted_and_told(monkeypatch) -> None:
    def failing(*_args, **_options):
        raise RunError("out of range")

    monkeypatch.setattr(blocks, "Trials", failing)
    found = measure(decide, replace(FEW, seeds=1)).calibration
    assert found.false_leaks[0].failures == ("the run failed: out of range",)
    assert found.false_leaks[0].share == 0


def test_a_decision_that_raises_is_counted_and_told() -> None:
    def failing(_question: Question, _attempts: Sequence[Attempt]) -> Finding:
        raise ZeroDivisionError("nothing to divide by")

    found = measure(failing, replace(FEW, seeds=1)).calibration.false_leaks[0]
    assert found.outcomes == {Outcome.ERRORED: 1}
    assert "nothing to divide by" in found.failures[0]


def tally(leaks: int, seeds: int, *, attack: str = "a", n: int = 5) -> Tally:
    return Tally(attack, "normal", n, {Outcome.LEAK: leaks, Outcome.NO_LEAK: seeds - leaks})


@pytest.mark.parametrize(
    ("leaks", "is_broken"),
    [(35, False), (36, True)],  # of 400: the one-sided 99.9 % bounds are 4.97 % and 5.16 %
)
def test_a_cell_is_over_the_limit_by_its_exact_bound(leaks: int, is_broken: bool) -> None:
    rest = tally(0, 10_000, n=20)
    assert bool(Calibration((tally(leaks, 400), rest), ()).broken) is is_broken


@pytest.mark.parametrize(("leaks", "is_broken"), [(40, False), (41, True)])
def test_an_attack_is_over_the_limit_by_its_share(leaks: int, is_broken: bool) -> None:
    cells = (tally(leaks // 2, 400, n=5), tally(leaks - leaks // 2, 400, n=20))
    assert bool(Calibration(cells, ()).broken) is is_broken
    assert not Calibration(cells, (), exact=False).broken


@pytest.mark.parametrize(("found", "is_broken"), [(57, False), (56, True)])
def test_power_is_at_least_95_percent(found: int, is_broken: bool) -> None:
    assert bool(Calibration((), (tally(found, 60),)).broken) is is_broken


def test_blocks_add_up() -> None:
    cells = added([tally(1, 20), tally(2, 20), tally(4, 20, n=20), tally(0, 20, attack="b")])
    assert [(cell.attack, cell.n, cell.leaks, cell.seeds) for cell in cells] == [
        ("a", 5, 3, 40),
        ("a", 20, 4, 20),
        ("b", 5, 0, 20),
    ]
    assert [(cell.attack, cell.leaks, cell.seeds) for cell in pooled(cells)] == [("a", 7, 60), ("b", 0, 20)]


def test_an_attack_that_never_answers_is_named() -> None:
    silent = Tally("a", "normal", 5, {Outcome.NOT_IDENTIFIABLE: 3, Outcome.UNDETERMINED: 1})
    assert Calibration((silent, tally(0, 3, attack="b")), ()).silent == ("a",)


def many_cells(leaks: int) -> Sequence[Tally]:
    """Of 20 seeds each, which is what a block has."""
    return [Tally("own-weights", "binary", 2, {Outcome.LEAK: leaks, Outcome.NO_LEAK: 20 - leaks})]


@pytest.mark.parametrize(("leaks", "seeds"), [(0, 60), (1, 400)])
def test_a_cell_without_false_leaks_is_left_after_the_first_look(monkeypatch, leaks: int, seeds: int) -> None:
    """One in twenty is looked into to the last seed."""
    monkeypatch.setattr(StageBlock, "measured", lambda block, decision: many_cells(leaks))
    monkeypatch.setattr(suite.Wanted, "_power", lambda wanted: ())
    monkeypatch.setattr(suite.Wanted, "cells", lambda wanted, stage: [("binary", 2)] if stage.name == "labels" else [])
    (found,) = measure(decide, Wanted(("own-weights",))).calibration.false_leaks
    assert (found.seeds, found.leaks) == (seeds, leaks * seeds // 20)
    (asked,) = measure(decide, Wanted(("own-weights",), seeds=200)).calibration.false_leaks
    assert asked.seeds == 200


def test_a_stopped_attack_leaves_the_others_of_its_stage() -> None:
    block = StageBlock(first=60, count=20, repeats=5, stage="labels", table="binary", n=2, attacks=("a", "b", "c"))
    cells = [replace(tally(leaks, 60, attack=name, n=2), table="binary") for name, leaks in (("a", 0), ("b", 1))]
    left = stopping.still_needed(block, [*cells, tally(0, 60, attack="b", n=2)])  # the last is of another table
    assert isinstance(left, StageBlock)
    assert left.attacks == ("b", "c")
    assert stopping.still_needed(replace(block, attacks=("a",)), cells) is None


def stopped(share: float) -> dict[tuple[int, int], float]:
    """How likely a cell ends with so many seeds, of which so many are false leaks."""
    found: dict[tuple[int, int], float] = {}
    before, going = 0, np.ones(1)
    for seeds in (*stopping.LOOKS, suite.SEEDS):
        going = np.convolve(going, binom.pmf(np.arange(seeds - before + 1), seeds - before, share))
        ends = np.array([seeds == suite.SEEDS or stopping.is_settled(leaks, seeds) for leaks in range(seeds + 1)])
        found |= {(seeds, int(leaks)): float(going[leaks]) for leaks in np.flatnonzero(ends)}
        before, going = seeds, np.where(ends, 0.0, going)
    return found


@pytest.mark.parametrize("share", [0.05, 0.07, 0.1, 0.12, 0.2])
def test_stopping_early_costs_hardly_any_power_and_no_error(share: float) -> None:
    ends = stopped(share)
    assert sum(ends.values()) == pytest.approx(1)
    limit = suite.SEEDS, 36  # false leaks with which a cell is over its limit, as above
    caught = sum(chance for end, chance in ends.items() if end >= limit)
    fixed = float(binom.sf(limit[1] - 1, suite.SEEDS, share))
    assert fixed - 0.0011 <= caught <= fixed + 1e-12
    assert not any(tally(leaks, seeds).surely_above(0.05) for seeds, leaks in ends if seeds < suite.SEEDS)
    leaks, seeds = (sum(chance * end[part] for end, chance in ends.items()) for part in (1, 0))
    assert leaks == pytest.approx(share * seeds)


def test_the_upper_end_of_a_stopped_cell_misses_in_at_most_one_case_of_nineteen() -> None:
    """In place of one in forty: cells are stopped where luck makes them look well. The lower end is as it was."""
    for share in np.linspace(0.002, 0.2, 34):
        ends = stopped(float(share))
        below = sum(chance for (seeds, leaks), chance in ends.items() if tally(leaks, seeds).ci[1] < share)
        above = sum(chance for (seeds, leaks), chance in ends.items() if tally(leaks, seeds).ci[0] > share)
        assert below <= 1 / 19
        assert above <= 1 / 40
