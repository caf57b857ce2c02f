"""Equality solving on a grid: more columns than equations, exactly; and no claim where the grid says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.grid_answer import known_grid
from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import MissingFromViewError
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Run
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding, TopLabel
from fedleak.defenses.collaboration_check import CollaborationCheck
from fedleak.defenses.leak_check import LeakCheck
from fedleak.models import LinearModel, Link
from fedleak.protocols.prediction.served_model import PredictionSettings
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


def weak_column(weight: float) -> tuple[Run, Guess]:
    """Two equations; a continuous column that the model all but ignores, beside two columns on a grid."""
    steps, federation = (0, 3, 5), stepped((0, 3, 5), n_classes=3)
    weights = np.random.default_rng(5).normal(size=(3, 6))
    weights[:, 3] *= weight
    columns = tuple(name for party in federation.parties for name in party.columns)
    run = run_prediction(federation, model=LinearModel(columns, weights, np.zeros(3)))
    return run, attacked(run, known(steps))


def test_a_continuous_column_of_next_to_no_weight_is_not_called_recovered():
    run, guess = weak_column(1e-13)
    assert guess.evidence["rows with one solution"] == len(guess.ids)
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rows that are determined whole"] == 0
    assert holds_the_truth(guess, run)


def test_a_weak_continuous_column_has_an_interval_as_wide_as_the_digits_leave_it():
    run, guess = weak_column(1e-9)
    truth = run.truth.of(guess.secret).values
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - truth).max() > 1e-8  # the digits leave no more
    assert holds_the_truth(guess, run)


def test_where_all_rows_are_withheld_nothing_is_recovered():
    run = run_prediction(stepped(SIX), defense=LeakCheck(width=0.01, share=0.0))
    guess = attacked(run, known(SIX))
    assert not len(guess.ids)
    assert guess.status is Status.NOT_IDENTIFIABLE


def test_without_an_equation_to_spare_nothing_is_claimed():
    steps = (5, 0, 0, 2)
    run = run_prediction(stepped(steps, n_classes=3))
    guess, before = attacked(run, known(steps)), attacked(run, known(steps), attack=EqualityBayes)
    assert guess.status is Status.PARTIAL
    assert "leave no equation" in guess.why
    assert "after 2 for continuous" in guess.why
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


def test_rounding_that_leaves_no_class_with_an_equation_says_nothing():
    defense, federation = Rounding(digits=1, mode="nearest"), stepped((3, 3))
    columns = tuple(name for party in federation.parties for name in party.columns)
    model = LinearModel(columns, np.ones((2, 5)), np.full(2, 9.0), Link.SIGMOID_EACH)  # confidences all round to 1
    guess = attacked(run_prediction(federation, model=model, defense=defense), known((3, 3)), defense)
    assert guess.status is Status.PARTIAL
    assert "leave no equation" in guess.why


def test_a_label_alone_says_nothing():
    run = run_prediction(stepped((3, 3)), defense=TopLabel())
    guess = attacked(run, known((3, 3)), TopLabel())
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rows with one solution"] == 0


def whole_numbers(high: float) -> Knowledge:
    first, *others = known((3, 3)).columns
    return Knowledge(columns=(replace(first, kind=ColumnKind.INTEGER, high=high, step=None), *others))


def test_more_steps_than_float64_tells_apart_are_no_grid():
    run = run_prediction(stepped((3, 3), n_classes=3))
    assert attacked(run, whole_numbers(2.0**51)).evidence["columns of known step"] == 2
    assert attacked(run, whole_numbers(1e30)).evidence["columns of known step"] == 1


def test_a_step_that_does_not_quite_divide_the_range_blurs_the_grid_by_as_much():
    run, (first, *others) = run_prediction(stepped((4, 3))), known((4, 3)).columns
    view = view_of(run, knowledge=Knowledge(columns=(replace(first, step=0.25 * (1 + 5e-7)), *others)))
    slack = known_grid(read_case(view), view.knowledge).slack
    assert slack[0] == pytest.approx(5e-7, rel=1e-3)
    assert slack[1] < 1e-12


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


def test_the_check_before_collaborating_counts_a_constant_as_nothing():
    bank, fintech = stepped((*SIX, 0)).parties
    features = fintech.train.features.copy()
    features[:, -1] = 0.25
    constant = replace(fintech, train=replace(fintech.train, features=features))
    run = run_prediction(
        Federation("vertical-prediction", (bank, constant), PredictionSettings()),
        defense=CollaborationCheck(max_correlation=1.0),
    )
    assert run.utility["released_share"] == 0.0
