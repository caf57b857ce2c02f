"""Brackets of thresholds through leaves alone: they always hold the truth, and close within few batches."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.boosting.known_shape import NONE, TreeShapes
from fedleak.attacks.boosting.threshold_rounds import box_search, printed_search
from fedleak.core.errors import BudgetSpentError
from fedleak.theory.boosted_trees import least_batches, printed_batches

RANGES = np.tile([0.0, 1.0], (6, 1))
VICTIM = np.arange(2, 6)


def full_trees(seed, *, n_trees=8, depth=3):
    """Complete trees over six features, of which the first two are the asker's own; thresholds fit their ancestors'."""
    rng = np.random.default_rng(seed)
    rows = []
    for tree in range(n_trees):
        _grow(rows, rng, tree, depth, RANGES.copy())
    left, right, feature, threshold, number = (np.array(column) for column in zip(*rows, strict=True))
    return left, right, feature, threshold.astype(float), number


def _grow(rows, rng, tree, depth, box):
    place = len(rows)
    if depth == 0:
        rows.append((NONE, NONE, NONE, np.nan, tree))
        return place
    feature = int(rng.integers(6))
    low, high = box[feature]
    threshold = low + (0.1 + 0.8 * rng.random()) * (high - low)
    rows.append(None)
    below, above = box.copy(), box.copy()
    below[feature, 1], above[feature, 0] = threshold, threshold
    children = _grow(rows, rng, tree, depth - 1, below), _grow(rows, rng, tree, depth - 1, above)
    rows[place] = (*children, feature, threshold, tree)
    return place


class Service:
    def __init__(self, seed, *, hidden=False, budget=None, depth=3):
        left, right, feature, self.threshold, tree = full_trees(seed, depth=depth)
        self.feature, self.budget, self.asked = feature, budget, 0
        unknown = np.isin(feature, VICTIM)
        told = np.where(unknown & hidden, NONE, feature)
        self.shapes = TreeShapes(left, right, told, np.where(unknown, np.nan, self.threshold), tree)
        self.roots = np.flatnonzero(np.diff(tree, prepend=-1))

    def ask(self, records):
        if self.asked == self.budget:
            raise BudgetSpentError("spent")
        self.asked += 1
        assert ((records >= 0) & (records <= 1)).all()
        at = np.repeat(self.roots[None], len(records), axis=0)
        everyone = np.arange(len(records))[:, None]
        while (inner := self.shapes.left[at] != NONE).any():
            goes_left = records[everyone, np.maximum(self.feature[at], 0)] <= self.threshold[at]
            at = np.where(inner, np.where(goes_left, self.shapes.left[at], self.shapes.right[at]), at)
        return at

    def brackets_hold(self, brackets):
        known = [node for node in self.shapes.unknown if brackets.feature_of(node) != NONE]
        assert all(brackets.feature_of(node) == self.feature[node] for node in known)
        return all(brackets.of(node)[0] <= self.threshold[node] < brackets.of(node)[1] for node in known)

    def n_thresholds(self):
        return [len(np.unique(self.threshold[self.feature == feature])) for feature in VICTIM]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hidden", [False, True])
def test_boxes_bracket_every_threshold_in_few_batches(seed, hidden):
    service = Service(seed, hidden=hidden)
    asked = box_search(
        service.shapes, RANGES, VICTIM, service.ask, epsilon=1e-5, n_records=201, rng=np.random.default_rng(seed)
    )
    assert service.brackets_hold(asked.brackets)
    assert (asked.brackets.widths() <= 1e-5).all()
    assert asked.n_batches == service.asked
    least = least_batches(1e5, 201, service.n_thresholds())
    assert least <= asked.n_batches <= (least + 3) * (2 if hidden else 1)


def test_the_printed_algorithm_stays_within_its_formula_and_needs_many_more():
    service = Service(0)
    asked = printed_search(service.shapes, RANGES, VICTIM, service.ask, epsilon=1e-5, n_records=201)
    assert service.brackets_hold(asked.brackets)
    assert (asked.brackets.widths() <= 1e-5).all()
    n_nodes = len(service.shapes.unknown)
    assert n_nodes < asked.n_batches <= printed_batches(n_nodes, 1e5, 201)


def test_a_budget_ends_the_search_with_brackets_that_hold():
    service = Service(1, budget=2)
    asked = box_search(
        service.shapes, RANGES, VICTIM, service.ask, epsilon=1e-9, n_records=101, rng=np.random.default_rng(0)
    )
    assert asked.spent
    assert asked.n_batches == 2
    assert service.brackets_hold(asked.brackets)
    assert (asked.brackets.widths() > 1e-9).any()


@pytest.mark.parametrize(
    ("n_nodes", "steps", "n_records", "printed"),
    [(102, 2e7, 401, 306), (15, 1e3, 401, 30), (15, 2e7, 201, 60), (102, 200, 401, 102), (15, 1e7, 401, 45)],
)
def test_the_formula_gives_the_counts_of_tables_5_and_6(n_nodes, steps, n_records, printed):
    assert printed_batches(n_nodes, steps, n_records) == printed


def test_one_threshold_needs_the_logarithm():
    assert least_batches(1e6, 99, [1]) == 3  # 100 gaps a batch
    assert least_batches(1e6, 99, []) == 0
    with pytest.raises(ValueError, match="3 or more"):
        printed_batches(1, 10, 2)
