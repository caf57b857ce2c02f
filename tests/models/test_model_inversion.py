"""Equations from confidences, intervals from equations, paths of trees: with the paper's own examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import InputError
from fedleak.models import LinearModel, Link, TreeModel
from fedleak.models.inversion.cell_intervals import cell_intervals
from fedleak.models.inversion.equations import linear_equations
from fedleak.models.inversion.tree_paths import candidate_paths, log_volumes, tree_paths

OWN, HIDDEN = np.array([0, 1]), np.array([2, 3])


def test_example_1_of_the_paper() -> None:
    theta = np.array([[0.08, 0.0002, 0.0005, 0.09], [0.06, 0.0005, 0.0002, 0.08], [0.01, 0.0001, 0.0004, 0.05]])
    model = LinearModel(("age", "income", "deposit", "shopping"), theta, np.zeros(3))
    own = np.array([[25.0, 2000.0]])
    # The paper's own confidences have three digits, which is where its loss comes from.
    (rounded,) = linear_equations(model, np.array([[0.867, 0.084, 0.049]]), own, OWN, HIDDEN)
    np.testing.assert_allclose(rounded.right @ rounded.matrix, [[8011.8, 3.046]], rtol=2e-3)
    exact = model.confidences(np.array([[25.0, 2000.0, 8000.0, 3.0]]))
    np.testing.assert_allclose(exact, [[0.867, 0.084, 0.049]], atol=6e-4)
    (equations,) = linear_equations(model, exact, own, OWN, HIDDEN)
    np.testing.assert_allclose(equations.right @ equations.matrix, [[8000.0, 3.0]], rtol=1e-8)


def example_2_tree() -> TreeModel:
    """Fig. 2: age <= 30? then income and deposit on the left, shopping on the right."""
    return TreeModel(
        ("age", "income", "deposit", "shopping"),
        left=np.array([1, 3, 5, -1, 7, -1, -1, -1, -1]),
        right=np.array([2, 4, 6, -1, 8, -1, -1, -1, -1]),
        feature=np.array([0, 2, 3, -1, 1, -1, -1, -1, -1]),
        threshold=np.array([30.0, 5000.0, 4.0, 0, 3000.0, 0, 0, 0, 0]),
        fractions=np.eye(2)[[0, 0, 0, 0, 0, 0, 1, 1, 0]],
    )


def test_example_2_of_the_paper() -> None:
    paths = tree_paths(example_2_tree())
    own = np.array([[25.0, 2000.0]])
    assert len(paths.leaves) == 5
    assert paths.matching(own, OWN).sum() == 2
    left = candidate_paths(paths, own, OWN, np.array([[0.0, 1.0]]))
    assert left.sum() == 1
    path = int(np.flatnonzero(left[0])[0])
    assert paths.low[path, 2] == 5000.0  # the deposit is larger than 5K


def test_volumes_are_shares_of_the_unit_box() -> None:
    tree = TreeModel(
        ("a", "b"),
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        feature=np.array([0, -1, 1, -1, -1]),
        threshold=np.array([0.25, 0, 0.5, 0, 0]),
        fractions=np.eye(2)[[0, 0, 0, 1, 0]],
    )
    np.testing.assert_allclose(np.exp(log_volumes(tree_paths(tree), np.array([0, 1]))), [0.25, 0.375, 0.375])


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(2, 5), st.integers(1, 5), st.integers(0, 10_000))
def test_intervals_contain_the_truth_and_determine_it_where_equations_suffice(
    n_classes: int, n_hidden: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    width = 2 + n_hidden
    model = LinearModel(
        tuple(f"x{i}" for i in range(width)), rng.normal(size=(n_classes, width)), rng.normal(size=n_classes)
    )
    rows = rng.random((20, width))
    hidden = np.arange(2, width)
    (equations,) = linear_equations(model, model.confidences(rows), rows[:, :2], OWN, hidden)
    assert equations.rank == min(n_classes - 1, n_hidden)
    low, high = np.moveaxis(cell_intervals(equations), 2, 0)
    assert (low <= rows[:, 2:] + 1e-9).all()
    assert (rows[:, 2:] <= high + 1e-9).all()
    if n_hidden <= n_classes - 1:
        assert (high - low).max() < 1e-3
        np.testing.assert_allclose(equations.right @ equations.matrix, rows[:, 2:], atol=1e-7)


def test_a_confidence_of_exactly_0_or_1_gives_no_equation_and_no_infinity() -> None:
    model = LinearModel(("a", "b", "c"), np.array([[1.0, 2.0, 1.0], [0.5, -1.0, 2.0], [0.0, 1.0, -2.0]]), np.zeros(3))
    rows = np.array([[0.2, 0.4, 0.6], [0.2, 0.4, 0.6], [0.2, 0.4, 0.6]])
    confidences = model.confidences(rows)
    confidences[1] = [confidences[1, 0], 0.0, confidences[1, 2]]
    confidences[2] = [1.0, 0.0, 0.0]
    groups = {
        int(row): group
        for group in linear_equations(model, confidences, rows[:, :1], OWN[:1], np.array([1, 2]))
        for row in group.rows
    }
    assert [groups[row].rank for row in range(3)] == [2, 1, 0]
    assert all(np.isfinite(group.right).all() for group in groups.values())


def test_probabilities_that_are_none_are_refused() -> None:
    model = LinearModel(("a", "b"), np.array([[1.0, 2.0]]), np.zeros(1), Link.SIGMOID)
    for wrong in ([[0.5, np.nan]], [[-0.1, 1.1]], [[1.0]]):
        with pytest.raises(InputError, match="confidences must"):
            list(linear_equations(model, np.array(wrong), np.zeros((1, 1)), np.array([0]), np.array([1])))


def test_a_sigmoid_of_each_class_gives_an_equation_a_class() -> None:
    rng = np.random.default_rng(0)
    model = LinearModel(tuple("abcd"), rng.normal(size=(3, 4)), rng.normal(size=3), Link.SIGMOID_EACH)
    rows = rng.random((5, 4))
    (equations,) = linear_equations(model, model.confidences(rows), rows[:, :1], np.array([0]), np.array([1, 2, 3]))
    np.testing.assert_allclose(equations.right @ equations.matrix, rows[:, 1:], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_row_takes_one_path_and_it_is_the_trees_own(seed: int) -> None:
    """On thresholds too, where rows of whole numbers often are: the left branch has the threshold, not the right."""
    tree = example_2_tree()
    thresholds = np.array([30.0, 3000.0, 5000.0, 4.0])
    rows = thresholds + np.random.default_rng(seed).integers(-1, 2, (200, 4))
    paths = tree_paths(tree)
    everything = paths.matching(rows, np.arange(4))
    assert (everything.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(paths.leaves[everything.argmax(axis=1)], tree.leaves_of(rows))
    for known in (OWN, HIDDEN):
        possible = candidate_paths(paths, rows[:, known], known, tree.confidences(rows))
        assert (possible & everything).any(axis=1).all(), "the true path is never excluded"
