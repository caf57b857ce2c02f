"""What is called a leak, and of which column."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.attack import Status
from fedleak.core.finding import Outcome, Severity
from synthetic import RANGES, Matched, found, known

N = 300


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def correlated(true, target, draw):
    """A guess with that correlation to a column of variance 1."""
    return true + draw.standard_normal(len(true)) * (1 / target**2 - 1) ** 0.5


def test_two_columns_are_not_drowned_by_two_that_are_nearly_constant():
    draw = rng()
    true = np.column_stack([draw.standard_normal((N, 2)), 1 + 1e-3 * (draw.random((N, 2)) < 0.02)])
    guess = 1 + 0.3 * draw.standard_normal(true.shape)
    guess[:, 0], guess[:, 1] = correlated(true[:, 0], 0.87, draw), correlated(true[:, 1], 0.85, draw)
    finding = found(true, guess)
    assert (finding.outcome, finding.severity) == (Outcome.LEAK, Severity.MEDIUM)
    assert finding.leaking_columns == ("c0", "c1")
    assert not finding.score.beats_baseline or finding.score.value < 0.2, "the average hides it"


def test_one_leaking_column_among_ten_constant_ones_in_a_skewed_table():
    draw = rng(1)
    rest = np.where(draw.random((N, 10)) < 0.03, draw.random((N, 10)), 0.25)
    true = np.column_stack([rest[:, :4], np.exp(draw.standard_normal(N)), rest[:, 4:]])
    guess = draw.random(true.shape)
    guess[:, 4] = 0.4 * true[:, 4] + 0.3 * draw.standard_normal(N)
    finding = found(true, guess)
    assert finding.outcome is Outcome.LEAK
    assert finding.leaking_columns == ("c4",)


@pytest.mark.parametrize("penalty", [0.3, 1.0, 5.0])
def test_a_regression_on_known_cells_is_no_leak_and_what_goes_beyond_it_is(penalty):
    from sklearn.linear_model import Ridge

    draw = rng(2)
    own = draw.standard_normal((N, 5))
    true = 3 + own @ draw.standard_normal((5, 3)) + 0.5 * draw.standard_normal((N, 3))
    knowledge, mask = known(true, 0.05, draw)
    fits = [Ridge(alpha=penalty).fit(own[mask[:, at]], true[mask[:, at], at]) for at in range(3)]
    blind = np.column_stack([fit.predict(own) for fit in fits])
    assert np.corrcoef(blind[:, 0], true[:, 0])[0, 1] > 0.6, "or the regression would tell nothing"
    assert found(true, blind, knowledge=knowledge, own=own).outcome is Outcome.NO_LEAK
    nearer = found(true, true + 0.2 * draw.standard_normal(true.shape), knowledge=knowledge, own=own)
    assert nearer.leaking_columns == ("c0", "c1", "c2")


def test_a_fixed_range_is_no_leak_and_one_that_suits_its_row_is():
    draw = rng(3)
    true = draw.beta(1, 4, (N, 2))
    fixed = np.broadcast_to(np.quantile(true, [0.05, 0.95], axis=0).T, (N, 2, 2)).copy()
    assert found(true, fixed.mean(axis=2), secret=RANGES, intervals=fixed).outcome is Outcome.NO_LEAK
    sides = np.where((true > 0.2)[..., None], [0.2, 1.0], [0.0, 0.2])
    assert found(true, sides.mean(axis=2), secret=RANGES, intervals=sides).leaking_columns == ("c0", "c1")


@pytest.mark.parametrize("binary", [False, True])
def test_whole_rows_of_a_correlated_population_are_no_leak_and_the_rows_themselves_are(binary):
    leaks = 0
    for seed in range(12):
        draw = rng(seed)
        tables = [draw.standard_normal((40, 1)) + 0.5 * draw.standard_normal((40, 6)) for _ in range(2)]
        true, guess = ((table > 0.3).astype(float) if binary else table for table in tables)
        leaks += found(true, guess, attack=Matched).outcome is Outcome.LEAK
    assert leaks <= 1
    assert found(true, true[::-1], attack=Matched).severity is Severity.HIGH


def test_a_mean_that_was_learnt_is_a_low_leak_and_a_constant_is_none():
    draw = rng(4)
    true = np.exp(draw.standard_normal((N, 3)))
    means = found(true, np.broadcast_to(true.mean(axis=0), true.shape).copy())
    assert (means.outcome, means.severity) == (Outcome.LEAK, Severity.LOW)
    assert means.leaking_columns == ("c0", "c1", "c2")
    for constant in (1e-3, 0.9, 3.0):
        assert found(true, np.full(true.shape, constant)).outcome is Outcome.NO_LEAK
    shrunken = 1e-3 * draw.standard_normal(true.shape)
    assert found(true, shrunken).outcome is Outcome.NO_LEAK


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_exact_cells_are_a_leak_however_few(n):
    true = 50 + 10 * rng(5).standard_normal((n, 2))
    finding = found(true, true + 1e-9)
    assert (finding.outcome, finding.severity) == (Outcome.LEAK, Severity.HIGH)
    assert finding.leaking_columns == ("c0", "c1")


def test_codes_of_two_rows_prove_nothing_but_a_certificate_does():
    true = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert found(true, true).outcome is Outcome.NO_LEAK
    proved = found(true, true, status=Status.RECOVERED, certificate="the one table that fits")
    assert (proved.outcome, proved.severity) == (Outcome.LEAK, Severity.HIGH)
    wrong = found(true, 1 - true, status=Status.RECOVERED, certificate="the one table that fits")
    assert wrong.outcome is Outcome.ERRORED


def test_cells_that_are_told_exactly_count_though_the_others_are_wild():
    draw = rng(6)
    true = draw.standard_normal((N, 4))
    guess = np.where(draw.random(true.shape) < 0.05, true, 1e6 * draw.standard_normal(true.shape))
    assert found(true, guess).outcome is Outcome.LEAK


def test_luck_that_the_rows_of_a_run_share_is_none_over_several_runs():
    """A guess along the first own column, with a sign that every run draws anew."""
    draw = rng(7)
    true = draw.standard_normal((N, 1))
    rough = true + draw.standard_normal((N, 1))
    signs = (1, -1, 1, 1, -1)
    assert found(true, rough).outcome is Outcome.LEAK
    assert found(true, *(sign * rough for sign in signs)).outcome is Outcome.NO_LEAK
    assert found(true, *([rough] * 5)).outcome is Outcome.LEAK


@pytest.mark.parametrize("n", [2, 3, 5])
def test_columns_that_are_copies_of_one_another_leak_as_one_does(n):
    """The mean of a row is then its cell, and is no baseline."""
    for seed in range(8):
        draw = np.random.default_rng([seed, n])
        column = draw.standard_normal((n, 1))
        true, other = np.hstack([column] * 3), np.hstack([draw.standard_normal((n, 1))] * 3)
        assert found(true, true).outcome is Outcome.LEAK
        assert found(true, other).outcome is Outcome.NO_LEAK
