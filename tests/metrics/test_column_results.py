"""Column by column, against figures computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import ColumnResult
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.cell_metrics import MeanError
from fedleak.metrics.column_results import column_results, correlation
from fedleak.metrics.metric import Answered

FEATURES = Secret(SecretKind.FEATURES, "bank")


def answered(secret, true, guessed, *, known=(), candidates=(), up_to=frozenset()) -> Answered:
    cells = np.array(true, dtype=float)
    truth = SecretValues(
        np.arange(len(cells)),
        tuple(f"c{i}" for i in range(cells.shape[1])),
        cells,
        np.column_stack([cells.min(axis=0), cells.max(axis=0)]),
    )
    guess = Guess(
        secret,
        Status.PARTIAL,
        truth.ids,
        np.array(guessed, dtype=float),
        candidates=tuple(np.array(one, dtype=float) for one in candidates),
    )
    rows, columns = np.array([at[0] for at in known], int), np.array([at[1] for at in known], int)
    cells_known = KnownCells("bank", rows, columns, cells[rows, columns])
    return Answered(guess, truth, Knowledge(cells=(cells_known,)), up_to)


def results(*arguments, **options) -> tuple[ColumnResult, ...]:
    return column_results(answered(*arguments, **options))


def test_each_column_has_its_own_figures():
    true = [[0.0, 10.0], [10.0, 20.0], [4.0, 30.0], [5.0, 40.0]]
    guessed = [[0.0, 40.0], [9.0, 30.0], [4.0, 20.0], [np.nan, 10.0]]
    first, second = results(FEATURES, true, guessed)
    assert first.column == "c0"
    assert first.n == 4
    assert first.error == pytest.approx((0.0 + 0.1 + 0.0 + 0.4) / 4)  # the open cell gets the best blind answer, 1
    assert first.baseline_error <= 0.4251, "of always 1"
    assert second.baseline_error <= 0.801, "of always 1"
    assert first.correlation == pytest.approx(np.corrcoef([0, 9, 4], [0, 10, 4])[0, 1])
    assert first.cells_recovered == 2 / 4
    assert second.error == pytest.approx((30 + 10 + 10 + 30) / 30 / 4)
    assert second.correlation == pytest.approx(-1.0)
    assert second.cells_recovered == 0.0


def test_known_cells_count_in_no_column():
    true = [[0.0, 1.0], [10.0, 2.0], [5.0, 3.0]]
    first, second = results(FEATURES, true, true, known=[(0, 0), (1, 0), (2, 0), (0, 1)])
    assert first == ColumnResult("c0", 0, None, None, None, None)
    assert (second.n, second.error, second.cells_recovered, second.learnt) == (2, 0.0, 1.0, 1.0)
    assert 0.25 < second.baseline_error <= 0.75, "of the known cell, 1: the truth's own median is not known"
    assert second.correlation is None, "two cells have no correlation"


def test_a_constant_guess_or_truth_has_no_correlation():
    first, second = results(FEATURES, [[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], [[2.0, 1.0], [2.0, 2.0], [2.0, 3.0]])
    assert first.correlation is None
    assert second.correlation is None
    assert correlation(np.array([1e100, -1e100, 0.0]), np.array([1.0, -1.0, 0.0])) == pytest.approx(1.0)


def test_candidates_count_as_their_mean():
    right, wrong = [[0.0], [5.0], [10.0]], [[10.0], [5.0], [0.0]]
    (found,) = results(FEATURES, right, right, candidates=(right, wrong))
    assert (found.n, found.error, found.correlation) == (3, pytest.approx(1 / 3), pytest.approx(0.0))
    assert found.cells_recovered == 2 / 3


def test_the_mean_over_columns_is_the_mean_error():
    rng = np.random.default_rng(1)
    true, guessed = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    given = answered(FEATURES, true, guessed)
    found, score = column_results(given), MeanError().score(given, rng=rng)
    assert np.mean([one.error for one in found]) == pytest.approx(score.value)
    assert np.mean([one.baseline_error for one in found]) == pytest.approx(score.baseline)


def test_labels_of_two_classes_are_numbers_and_of_more_are_not():
    labels = Secret(SecretKind.LABELS, "bank")
    (two,) = results(labels, [[0], [1], [1], [1]], [[0], [1], [1], [0]])
    assert (two.error, two.baseline_error, two.cells_recovered) == (0.25, 0.25, 0.75)
    (three,) = results(labels, [[0], [1], [2], [1]], [[0], [1], [1], [1]])
    assert three == ColumnResult("c0", 4, None, None, None, 0.75, None)


def test_matched_rows_have_a_baseline_that_was_matched_too():
    rng = np.random.default_rng(2)
    true = rng.normal(size=(12, 2))
    shuffled = rng.permuted(true, axis=0)
    plain = results(FEATURES, true, shuffled)
    matched = results(FEATURES, true, shuffled, up_to=frozenset({Symmetry.ROW_ORDER}))
    for ours, chance in zip(plain, matched, strict=True):
        assert chance.baseline_error < ours.baseline_error
        assert chance.error < ours.baseline_error, "matching flatters a table of wrong rows"


def test_inner_products_of_rows_have_no_columns_of_their_own():
    assert results(Secret(SecretKind.GRAM, "bank"), np.eye(3), np.eye(3)) == ()
