"""Equality solving on a grid: more columns than equations, exactly; and no claim where the grid says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.features.equality_bayes import EqualityBayes
from fedleak.attacks.features.equality_grid import EqualityGrid
from fedleak.core.errors import MissingFromViewError
from fedleak.core.federation import Federation
from fedleak.core.guess import Guess, Status
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.run import Run
from fedleak.defenses.collaboration_check import CollaborationCheck
from fedleak.defenses.confidence_noise import ConfidenceNoise
from fedleak.defenses.leak_check import LeakCheck
from fedleak.defenses.rounding import Rounding
from fedleak.defenses.top_label import TopLabel
from fedleak.protocols.prediction.settings import PredictionSettings
from prediction_runs import run_prediction, squared_error, unit_federation, view_of

SIX = (77, 3, 11, 1, 40, 1)


def stepped(steps: Sequence[int], *, n_classes: int = 2, unit: float = 1.0, low: float = 0.0) -> Federation:
    """The victim's columns on grids of so many steps (0: continuous); ``unit`` and ``low`` put them on other units."""
    settings = PredictionSettings(unit_box=unit == 1.0 and low == 0.0)
    federation = unit_federation({"bank": 3, "fintech": len(steps)}, settings, n_classes=n_classes, n_rows=300)
    bank, fintech = federation.parties
    rows = fintech.train.features
    on_grid = [np.round(rows[:, i] * n) / n if n else rows[:, i] for i, n in enumerate(steps)]
    train = replace(fintech.train, features=low + unit * np.column_stack(on_grid))
    return replace(federation, parties=(bank, replace(fintech, train=train)))


def known(steps: Sequence[int], unit: float = 1.0, low: float = 0.0) -> Knowledge:
    ends = (low, low + unit)
    return Knowledge(
        columns=tuple(
            KnownColumn("fintech", f"fintech{i}", low=ends[0], high=ends[1], step=unit / n if n else None, slack=1e-13)
            for i, n in enumerate(steps)
        )
    )


def attacked(run: Run, knowledge: Knowledge, defense=None, attack=EqualityGrid) -> Guess:
    return attack().run(view_of(run, defense=defense, knowledge=knowledge), rng=np.random.default_rng(0))


def holds_the_truth(guess: Guess, run: Run) -> bool:
    truth = run.truth.of(guess.secret).values
    assert guess.intervals is not None
    return bool(((guess.intervals[:, :, 0] <= truth + 1e-9) & (truth <= guess.intervals[:, :, 1] + 1e-9)).all())


def test_six_columns_come_out_of_one_equation():
    run = run_prediction(stepped(SIX))
    guess = attacked(run, known(SIX))
    assert guess.status is Status.RECOVERED
    assert squared_error(guess, run) < 1e-25
    assert holds_the_truth(guess, run)
    assert squared_error(attacked(run, known(SIX), attack=EqualityBayes), run) > 0.01


def test_columns_in_units_of_their_own():
    run = run_prediction(stepped((40, 7, 3), unit=200.0, low=1900.0))
    guess = attacked(run, known((40, 7, 3), unit=200.0, low=1900.0))
    assert guess.status is Status.RECOVERED
    assert squared_error(guess, run) < 1e-18


def test_continuous_columns_cost_an_equation_each_and_follow_from_the_rest():
    steps = (5, 0, 90, 0, 2)
    run = run_prediction(stepped(steps, n_classes=4))
    guess = attacked(run, known(steps))
    assert guess.status is Status.RECOVERED
    assert squared_error(guess, run) < 1e-18


def test_without_an_equation_to_spare_nothing_is_claimed():
    steps = (5, 0, 0, 2)
    run = run_prediction(stepped(steps, n_classes=3))
    guess, before = attacked(run, known(steps)), attacked(run, known(steps), attack=EqualityBayes)
    assert guess.status is Status.PARTIAL
    assert "leave no equation" in guess.why
    np.testing.assert_array_equal(guess.values, before.values)


def test_six_digits_are_no_defense():
    defense, steps = Rounding(digits=6), (11, 1, 9, 3)
    run = run_prediction(stepped(steps), defense=defense)
    guess = attacked(run, known(steps), defense)
    assert guess.evidence["rows with one solution"] > 0.7 * len(guess.ids)
    assert squared_error(guess, run) < 0.3 * squared_error(attacked(run, known(steps), defense, EqualityBayes), run)
    assert holds_the_truth(guess, run)


def test_of_several_solutions_all_are_in_the_interval():
    defense, steps = Rounding(digits=3), (11, 1, 9)
    run = run_prediction(stepped(steps), defense=defense)
    guess = attacked(run, known(steps), defense)
    assert guess.evidence["rows with several"] > 0.2 * len(guess.ids)
    assert guess.status is Status.PARTIAL
    assert holds_the_truth(guess, run)


def test_noise_is_allowed_for():
    defense = ConfidenceNoise(sigma=1e-6)
    run = run_prediction(stepped((3, 2)), defense=defense)
    guess = attacked(run, known((3, 2)), defense)
    assert guess.evidence["rows with one solution"] > 0.9 * len(guess.ids)
    assert holds_the_truth(guess, run)


def test_wrong_steps_find_nothing():
    run = run_prediction(stepped((10, 6, 14, 22)))
    guess = attacked(run, known((7, 13, 9, 17)))
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rows with one solution"] < 0.1 * len(guess.ids)  # those at the common ends


def test_a_label_alone_says_nothing():
    run = run_prediction(stepped((3, 3)), defense=TopLabel())
    guess = attacked(run, known((3, 3)), TopLabel())
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rows with one solution"] == 0


def test_it_asks_for_steps():
    run = run_prediction(stepped((3, 3)))
    with pytest.raises(MissingFromViewError, match="known step"):
        attacked(run, Knowledge())


def test_the_leak_check_withholds_what_the_grid_would_give_away():
    blind, seeing = LeakCheck(width=0.01, share=0.5, grids=False), LeakCheck(width=0.01, share=0.5)
    assert run_prediction(stepped(SIX), defense=blind).utility["released_share"] > 0.9
    assert run_prediction(stepped(SIX), defense=seeing).utility["released_share"] == 0.0
    assert run_prediction(stepped((0,) * 6), defense=seeing).utility["released_share"] > 0.9


def test_the_check_before_collaborating_counts_bits():
    """Six columns and one equation: fine by the paper's count, and all cells gone."""
    by_columns, by_bits = CollaborationCheck(max_correlation=1.0, bits=0), CollaborationCheck(max_correlation=1.0)
    assert run_prediction(stepped(SIX), defense=by_columns).utility["released_share"] == 1.0
    assert run_prediction(stepped(SIX), defense=by_bits).utility["released_share"] == 0.0
    assert run_prediction(stepped((0,) * 6), defense=by_bits).utility["released_share"] == 1.0
    fine = (9_999, 0, 9_999)
    assert run_prediction(stepped(fine), defense=by_bits).utility["released_share"] == 1.0
