"""What anybody would answer without a message: every figure by another way than the code's."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.knowledge import Knowledge, KnownCells, KnownColumn, PublicSample
from fedleak.core.payload import Table
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.metrics.blind import Blind, OwnRows, blind_answers, own_rows
from fedleak.metrics.blind_fits import MAX_COLUMNS, MAX_PREDICTORS, N_NEAREST, PENALTIES, fitted_tables
from fedleak.metrics.blind_labels import blind_chances
from fedleak.metrics.blind_products import expected_products

FEATURES = Secret(SecretKind.FEATURES, "shop")
IDS = np.arange(3)
VALUES = SecretValues.spanning(IDS, ("age", "sum"), np.array([[30.0, 1.0], [40.0, 5.0], [60.0, 6.0]]))


def answers(
    knowledge: Knowledge | None = None, own: OwnRows | None = None, secret: Secret = FEATURES
) -> dict[str, Blind]:
    beside = OwnRows(np.empty((3, 0))) if own is None else own
    return {blind.how: blind for blind in blind_answers(secret, VALUES, knowledge or Knowledge(), beside)}


def test_without_knowledge_only_what_anybody_says_is_left():
    found = answers()
    assert {how: blind.cells.tolist() for how, blind in found.items()} == {
        f"always {constant:g}": [[constant, constant]] for constant in (0.0, 0.5, -0.5, 1.0, -1.0)
    }
    assert not any(blind.by_row for blind in found.values())


def test_a_declared_range_gives_its_ends_and_its_middle():
    columns = (
        KnownColumn("shop", "age", low=18.0, high=98.0),
        KnownColumn("shop", "sum", low=2.0),
        KnownColumn("bank", "age", low=0.0, high=1.0),
    )
    found = answers(Knowledge(columns=columns))
    told = {how: blind.cells[0].tolist() for how, blind in found.items() if "range" in how}
    assert told == {
        "lowest of the declared range": [18.0, 2.0],
        "middle of the declared range": [58.0, 0.0],
        "highest of the declared range": [98.0, 0.0],
    }


def test_known_cells_and_a_sample_give_means_and_medians():
    cells = KnownCells("shop", np.array([0, 1, 2, 0]), np.array([0, 0, 0, 1]), np.array([30.0, 40.0, 60.0, 1.0]))
    sample = Table(("sum", "age"), np.arange(4), np.array([[1.0, 20.0], [2.0, 30.0], [30.0, 40.0], [4.0, 90.0]]))
    found = answers(Knowledge(cells=(cells,), samples=(PublicSample("shop", sample), PublicSample("bank", sample))))
    assert found["mean of the known cells"].cells[0] == pytest.approx([130 / 3, 1.0])
    assert found["median of the known cells"].cells[0].tolist() == [40.0, 1.0]
    assert found["mean of the public sample"].cells[0].tolist() == [45.0, 9.25]
    alone = KnownCells("shop", np.array([0, 1]), np.array([0, 0]), np.array([30.0, 40.0]))
    assert answers(Knowledge(cells=(alone,)))["median of the known cells"].cells[0].tolist() == [30.0, 0.0]
    assert found["median of the public sample"].cells[0].tolist() == [30.0, 2.0]  # the lower of two middles


def test_residuals_are_guessed_from_own_labels_alone():
    own = OwnRows(np.empty((3, 0)), np.array([1.0, 0.0, 1.0]))
    residuals = answers(own=own, secret=Secret(SecretKind.RESIDUALS, "joint"))
    assert residuals["one half less the label"].cells.ravel().tolist() == [-0.5, 0.5, -0.5]
    assert residuals["one half less the label"].by_row
    assert "one half less the label" not in answers(own=own)


def test_own_rows_are_found_by_id_and_own_labels_are_the_first_members():
    features = SecretValues.spanning(np.array([2, 0, 7]), ("rent",), np.array([[0.2], [0.0], [0.7]]))
    labels = [
        SecretValues.spanning(IDS, ("label",), np.array([cells]).T) for cells in ([1.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    ]
    secrets = {
        Secret(SecretKind.FEATURES, "bank"): features,
        Secret(SecretKind.LABELS, "bank"): labels[0],
        Secret(SecretKind.LABELS, "insurer"): labels[1],
        FEATURES: VALUES,
    }
    own = own_rows(Truth(secrets), ("bank", "insurer"), FEATURES, VALUES)
    assert own.labels is not None
    assert own.labels.tolist() == [1.0, 0.0, 1.0]
    assert own.beside.shape == (3, 3)  # a column, and the labels of both
    assert np.array_equal(own.beside[:, 0], [0.0, np.nan, 0.2], equal_nan=True)
    assert not own.alike
    alone = own_rows(Truth(secrets), ("bank",), Secret(SecretKind.LABELS, "bank"), labels[0])
    assert alone.labels is None
    alike = own_rows(Truth({**secrets, Secret(SecretKind.FEATURES, "bank"): VALUES}), ("bank",), FEATURES, VALUES)
    assert [table.columns for table in alike.alike] == [("age", "sum")]


def own_column(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, 1))


def test_a_ridge_is_fitted_on_known_cells_and_told_of_all_rows():
    own, known = own_column(9), np.full((9, 1), np.nan)
    known[:6] = 3.0 + 2.0 * own[:6] + 0.1 * own_column(6)[::-1]
    found = dict(fitted_tables(known, own))
    x = (own[:, 0] - own.mean()) / own.std()
    x0, y0 = x[:6] - x[:6].mean(), known[:6, 0] - known[:6, 0].mean()
    for penalty in PENALTIES:
        slope = (x0 @ y0) / (x0 @ x0 + penalty)
        expected = known[:6, 0].mean() + slope * (x - x[:6].mean())
        assert found[f"ridge regression on own columns ({penalty:g})"][:, 0] == pytest.approx(expected)
    assert not any("all that is known" in how for how in found)  # one column has no others


def test_the_nearest_rows_are_five_by_own_columns():
    own, known = np.arange(9.0)[:, None], np.arange(9.0)[:, None] ** 2
    known[8] = np.nan
    found = dict(fitted_tables(known, own))["nearest rows by own columns"]
    assert N_NEAREST == 5
    assert found[8, 0] == pytest.approx(np.mean([9.0, 16.0, 25.0, 36.0, 49.0]))
    assert found[0, 0] == pytest.approx(np.mean([0.0, 1.0, 4.0, 9.0, 16.0]))


def test_no_column_predicts_itself_and_others_do():
    """Two columns that are one: what is known of the first gives the second, and its own cells do not."""
    first = own_column(40)
    known = np.hstack([first, 5.0 * first])
    known[30:, 1] = np.nan
    tables = dict(fitted_tables(known, np.empty((40, 0))))
    assert set(tables) == {f"ridge regression on all that is known ({penalty:g})" for penalty in PENALTIES}
    guessed = tables["ridge regression on all that is known (0.1)"]
    assert np.corrcoef(guessed[30:, 1], first[30:, 0])[0, 1] > 0.999
    known[:, 0] = np.random.default_rng(1).standard_normal(40)  # tells nothing of the second
    alone = dict(fitted_tables(known, np.empty((40, 0))))["ridge regression on all that is known (0.1)"]
    assert abs(np.corrcoef(alone[:30, 1], known[:30, 1])[0, 1]) < 0.5


def test_wide_tables_stay_cheap():
    assert not list(fitted_tables(np.zeros((3, MAX_COLUMNS + 1)), own_column(3)))
    assert list(fitted_tables(np.zeros((3, MAX_COLUMNS)), own_column(3)))
    assert not list(fitted_tables(np.full((3, 2), np.nan), own_column(3)))
    known = np.zeros((3, 2))
    for n_own, together in ((MAX_PREDICTORS - 2, True), (MAX_PREDICTORS - 1, False)):
        found = [how for how, _ in fitted_tables(known, np.ones((3, n_own)))]
        assert any("all that is known" in how for how in found) is together


def test_labels_have_no_blind_answer_without_known_ones_or_own_columns():
    known = np.array([1.0, np.nan, 0.0, np.nan])
    assert blind_chances(known, np.empty((4, 0)), 2) == ()
    assert blind_chances(np.full(4, np.nan), np.ones((4, 2)), 2) == ()
    assert len(blind_chances(known, np.arange(8.0).reshape(4, 2), 2)) > 1


def test_own_columns_that_lack_a_cell_tell_nothing_of_products():
    """Nor does an owner of whom nothing is known."""
    beside = np.array([[1.0, 0.0], [np.nan, 2.0], [5.0, 7.0]])
    secret, ids = Secret(SecretKind.GRAM, "shop"), np.arange(3)
    values = SecretValues.spanning(ids, tuple(f"row {row}" for row in ids), np.zeros((3, 3)))
    found = dict(expected_products(secret, values, Knowledge(), beside))
    assert list(found) == ["products of its own rows"]
    own = (beside[:, 1] - 3.0) / beside[:, 1].std()
    np.testing.assert_allclose(found["products of its own rows"], np.outer(own, own))
