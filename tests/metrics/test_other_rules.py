"""What goes with own columns by chance is no leak; what is exact is one, in few rows as in many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, Symmetry, members, together
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Better, Score
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.blind import OwnRows, blind_answers
from fedleak.metrics.metric import Answered
from fedleak.metrics.other_rules import OtherRules, spanned
from fedleak.metrics.row_orders import measures
from fedleak.metrics.row_signal import signal_of
from fedleak.metrics.row_tests import row_tests
from fedleak.trial.luck import luck_of

FEATURES = Secret(SecretKind.FEATURES, "shop")
NO_SCORE = Score("cells-recovered", 0.0, 0.0, Better.HIGHER, (0.0, 0.0), 1)
N_ROWS, N_OWN, N_SEEDS = 100, 3, 60


def answered(guess: np.ndarray, true: np.ndarray, own: np.ndarray | None) -> Answered:
    ids = np.arange(len(true))
    truth = SecretValues.spanning(ids, tuple(f"x{place}" for place in range(true.shape[1])), true)
    told = Guess(FEATURES, Status.PARTIAL, ids, guess)
    return Answered(told, truth, Knowledge(), own=None if own is None else OwnRows(own))


def chance(guess: np.ndarray, true: np.ndarray, own: np.ndarray | None, rng: np.random.Generator) -> float:
    found = [each for each in measures(signal_of(answered(guess, true, own)), frozenset(), rng) if each.name != "hits"]
    return min(1.0, len(found) * min(each.chance(0) for each in found))


def by_a_rule(own: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return own @ rng.standard_normal((own.shape[1], 1)) + 0.5 * rng.standard_normal((len(own), 1))


def false_leaks(*, own_columns_count: bool, n_rows: int = N_ROWS, n_own: int = N_OWN) -> int:
    found = 0
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, 7])
        own = rng.standard_normal((n_rows, n_own))
        guess, true = by_a_rule(own, rng), by_a_rule(own, rng)
        found += chance(guess, true, own if own_columns_count else None, rng) <= 0.05
    return found


def test_another_table_beside_the_same_own_columns_is_luck():
    assert false_leaks(own_columns_count=True) <= 8, "of 60 at 5 %: more in 1 of 250 cases"
    assert false_leaks(own_columns_count=True, n_rows=20, n_own=14) <= 8, "own columns leave rows little freedom"
    assert false_leaks(own_columns_count=False) > 15, "rows in other orders alone take it for a leak"


def test_what_is_right_is_found_though_own_columns_explain_most_of_it():
    rng = np.random.default_rng(3)
    own = rng.standard_normal((N_ROWS, N_OWN))
    true = own @ np.array([[2.0], [1.0], [-1.0]]) + 0.2 * rng.standard_normal((N_ROWS, 1))
    assert chance(true + 0.02 * rng.standard_normal(true.shape), true, own, rng) < 1e-4
    assert chance(own[:, :1], true, own, rng) > 0.05, "one own column is a guess of anybody's"


def test_flags_stay_flags_and_what_is_open_stays_open():
    rng = np.random.default_rng(5)
    own = spanned(rng.standard_normal((40, 2)))
    answer = np.column_stack([rng.random(40) < 0.3, rng.standard_normal(40)]) + 1e-9 * rng.standard_normal((40, 2))
    answer[::7] = np.nan
    drawn = OtherRules(answer, own).draw(1, rng)[0]
    assert (np.isnan(drawn) == np.isnan(answer)).all()
    flags = OtherRules(np.repeat(answer, 8, axis=0), spanned(rng.standard_normal((320, 2)))).draw(1, rng)[0, :, 0]
    assert np.nanmax(np.abs(flags - np.rint(flags))) < 1e-6, "in many rows too"
    assert sorted(drawn[~np.isnan(drawn[:, 0]), 0]) == sorted(answer[~np.isnan(answer[:, 0]), 0])
    assert (drawn[:, 0] != answer[:, 0]).sum() > np.isnan(answer[:, 0]).sum(), "in other rows"


def test_equal_values_get_flags_in_any_order():
    """Where own columns explain nothing and the rest is two values, sorting alone would favour the first rows."""
    rng = np.random.default_rng(8)
    answer = np.repeat([1.0, 0.0], 10)[:, None]
    own = spanned(np.concatenate([np.ones((10, 1)), -np.ones((10, 1))]) * np.tile([1.0, -1.0], 10)[:, None])
    drawn = OtherRules(answer, own).draw(2000, rng)[:, :, 0]
    assert (drawn.sum(axis=1) == 10).all()
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.05


def test_a_turned_rule_is_as_strong_as_the_answers_own():
    rng = np.random.default_rng(6)
    own = spanned(rng.standard_normal((300, 3)))
    answer = own @ np.array([[3.0], [0.0], [4.0]]) + 2.0
    drawn = OtherRules(answer, own).draw(1, rng)[0]
    assert np.linalg.norm(own.T @ (drawn - 2.0)) == pytest.approx(5.0)
    several = OtherRules(answer, own).draw(50, rng)[:, :, 0]
    assert np.linalg.norm((several - 2.0) @ own, axis=1) == pytest.approx(np.full(50, 5.0))
    assert np.linalg.matrix_rank(several - 2.0) == 3, "each by a rule of its own"
    assert spanned(np.empty((50, 0))) is None
    assert spanned(np.ones((50, 2))) is None, "constant columns say nothing of rows"


def test_products_of_rows_are_expected_from_known_cells_and_own_rows():
    ids = np.array([4, 9])
    table = np.array([[1.0, 2.0], [3.0, 5.0], [0.5, 1.0]])
    columns = ("row 4", "row 7", "row 9")
    values = SecretValues.spanning(ids, columns, table[[0, 2]] @ table.T)
    cells = KnownCells(
        "shop", np.array([4, 7, 9, 4, 7]), np.array([0, 0, 0, 1, 1]), np.array([1.0, 3.0, 0.5, 2.0, 5.0])
    )
    own = np.array([[1.0], [2.0], [6.0]])
    for owner in ("shop", together(["inn", "shop"])):
        found = blind_answers(Secret(SecretKind.GRAM, owner), values, Knowledge(cells=(cells,)), OwnRows(own))
        told = {blind.how: blind.cells for blind in found if blind.by_row}
        filled = np.array([[1.0, 2.0], [3.0, 5.0], [0.5, 3.5]])
        assert told["products of known cells and means"] == pytest.approx(filled[[0, 2]] @ filled.T)
        unit = (own - 3) / np.sqrt(14 / 3)
        assert told["products of its own rows"] == pytest.approx(unit[[0, 2]] @ unit.T)


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a+b", "c\\"), ("x\\+", "y"), ("+", "\\\\")])
def test_parties_that_are_one_owner_are_told_apart_again(names):
    assert members(together(names)) == names


@pytest.mark.parametrize("n_rows", [3, 6, 30])
def test_a_table_recovered_to_the_last_cell_but_for_the_order_of_its_rows_is_a_leak(n_rows):
    rng = np.random.default_rng(8)
    true = rng.standard_normal((n_rows, 5))
    found = answered(true[rng.permutation(n_rows)] + 1e-9, true, None)
    tests = row_tests(replace(found, up_to=frozenset({Symmetry.ROW_ORDER})), NO_SCORE, rng=rng)
    assert luck_of([tests]).is_none
    other = answered(rng.standard_normal((n_rows, 5)), true, None)
    assert not luck_of([row_tests(replace(other, up_to=frozenset({Symmetry.ROW_ORDER})), NO_SCORE, rng=rng)]).is_none
