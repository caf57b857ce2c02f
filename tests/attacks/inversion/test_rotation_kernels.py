"""Closing a rotation from what is known of columns."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.inversion.few_values import unit_combinations
from fedleak.attacks.inversion.rotation_fit import ColumnKnowledge, MatchingProblem, column_knowledge, match
from fedleak.attacks.inversion.rotation_problem import Anchor
from fedleak.attacks.inversion.rotation_starts import (
    independent_rotation,
    independent_start,
    moment_starts,
    named_components,
    random_start,
)
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn, PublicSample
from fedleak.core.payload import Table


def rotated(rows: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows under a random rotation, and the rotation back."""
    turn = random_start(rows.shape[1], np.random.default_rng(seed))
    return rows @ turn, turn.T


@pytest.mark.parametrize("values", [(0.0, 1.0), (1.0, 2.0, 3.0), (-2.0, -1.0, 0.0, 1.0)])
def test_columns_of_few_values_are_found_exactly_and_only_they(values):
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.choice(values, size=(40, 3)), rng.standard_normal((40, 2))])
    factor, _ = rotated(rows, 2)
    found = unit_combinations(factor, np.array(values), 1e-9)
    assert len(found) == 3
    exact = [factor @ r for r in found]
    assert all(np.abs(column - np.round(column)).max() < 1e-9 for column in exact)
    columns = sorted(np.round(column).tolist() for column in exact)
    assert columns == sorted(rows[:, :3].T.tolist())


def test_too_many_patterns_are_refused():
    factor = np.random.default_rng(0).standard_normal((30, 12))
    assert unit_combinations(factor, np.arange(10.0), 1e-9) is None


def test_ranges_pull_the_rotation_into_place():
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.uniform(0, 1, 300), rng.uniform(-3, 1, 300), rng.uniform(5, 6, 300)])
    factor, _ = rotated(rows, 4)
    columns = [ColumnKnowledge(low=float(c.min()), high=float(c.max())) for c in rows.T]
    problem = MatchingProblem(factor, columns, {})
    results = [match(problem, random_start(3, rng)) for _ in range(10)]
    rotation, misfit = min(results, key=lambda result: result[1])
    assert misfit < 1e-3
    assert np.abs(factor @ rotation - rows).mean() < 0.05 * np.abs(rows).mean()


def test_fixed_columns_stay_and_the_rest_stays_orthogonal():
    rows = np.random.default_rng(5).standard_normal((50, 4))
    factor, back = rotated(rows, 6)
    problem = MatchingProblem(factor, [ColumnKnowledge()] * 4, {2: back[:, 2]})
    rotation = problem.constrained(random_start(4, np.random.default_rng(7)))
    np.testing.assert_allclose(rotation[:, 2], back[:, 2])
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(4), atol=1e-10)


def test_independent_columns_and_the_weights_name_themselves():
    rng = np.random.default_rng(8)
    rows = np.column_stack([rng.exponential(size=2000), rng.uniform(-2, 2, 2000), rng.laplace(size=2000)])
    weights = np.array([1.0, -0.3, 2.0])
    factor, back = rotated(rows, 9)
    start = independent_start(factor, rng)
    assert start is not None
    rotation = named_components(start, back @ weights, Anchor(weights, rows @ weights))
    assert np.abs(factor @ rotation - rows).mean() < 0.1 * np.abs(rows).mean()


def test_correlated_columns_are_not_taken_for_independent_ones():
    rng = np.random.default_rng(10)
    common = rng.exponential(size=500)
    rows = np.column_stack([common, common + 0.1 * rng.standard_normal(500)])
    rotation = independent_rotation(rows, np.eye(2))
    assert rotation is None or np.abs(rows @ rotation - rows).mean() > 0.1  # never the victim's own, correlated columns


def test_a_large_sample_of_the_same_people_gives_nearly_their_table():
    rng = np.random.default_rng(11)
    mixing = rng.standard_normal((4, 4))
    draw = np.column_stack([rng.exponential(size=2000), rng.gamma(2, size=(2000,)), rng.beta(1, 4, size=(2000, 2))])
    people = draw @ mixing
    rows, sample = people[:1000], people[1000:]
    factor, _ = rotated(rows, 12)
    problem = MatchingProblem(factor, [ColumnKnowledge(sample=np.sort(c)) for c in sample.T], {})
    results = [match(problem, start) for start in moment_starts(factor, sample, None, None)]
    rotation, _ = min(results, key=lambda result: result[1])
    assert np.abs(factor @ rotation - rows).mean() < 0.15 * np.abs(rows).mean()


def test_what_is_declared_becomes_what_is_used():
    table = Table(("a", "b", "c"), np.arange(3), np.array([[1.0, 0.5, 2.0], [3.0, 0.7, 2.5], [2.0, 0.1, 3.0]]))
    knowledge = Knowledge(
        columns=(
            KnownColumn("victim", "a", ColumnKind.BINARY, 0.0, 5.0),
            KnownColumn("victim", "b", ColumnKind.INTEGER, 1.0, 4.0),
            KnownColumn("victim", "c", None, -1.0, None),
        )
    )
    columns, sample = column_knowledge(knowledge, "victim", 3)
    assert sample is None
    np.testing.assert_array_equal(columns[0].values, [0.0, 5.0])
    np.testing.assert_array_equal(columns[1].values, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(columns[2].nearest(np.array([-5.0, 5.0])), [-1.0, 5.0])
    columns, sample = column_knowledge(Knowledge(samples=(PublicSample("victim", table),)), "victim", 3)
    assert sample.shape == (3, 3)
    np.testing.assert_array_equal(columns[0].values, [1.0, 2.0, 3.0])  # whole numbers in the sample show a code
    assert columns[1].values is None
    assert column_knowledge(Knowledge(samples=(PublicSample("other", table),)), "victim", 3)[1] is None


def test_a_table_of_zeros_fits_columns_that_can_be_zero_and_no_others():
    turned = np.linalg.qr(np.arange(4.0).reshape(2, 2))[0]
    fits = MatchingProblem(np.zeros((3, 2)), [ColumnKnowledge(values=np.array([0.0, 1.0]))] * 2, {})
    assert fits.misfit(turned) == 0
    assert match(fits, turned)[1] == 0
    excluded = MatchingProblem(np.zeros((3, 2)), [ColumnKnowledge(values=np.array([1.0, 2.0]))] * 2, {})
    assert excluded.misfit(turned) == np.inf
