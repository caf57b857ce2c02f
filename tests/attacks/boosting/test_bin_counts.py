"""Sums by bin: what is proved is what all solutions share, checked by going through all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fedleak.attacks.boosting.bin_counts import UNKNOWN, proved_counts
from fedleak.attacks.boosting.histogram_system import InconsistentSumsError, NodeSums, histogram_system
from fedleak.attacks.boosting.modular_elimination import fixed_unknowns
from fedleak.attacks.boosting.subset_sums import count_ranges


def node(rows, g, h, bins, n_bins):
    sums = np.zeros((n_bins, 2), dtype=np.int64)
    np.add.at(sums, bins[rows], np.stack([g[rows], h[rows]], axis=1))
    return NodeSums(rows, g[rows], h[rows], sums)


def random_nodes(seed, *, n_rows=7, n_bins=3, n_trees=1, largest=4):
    """Few and small weights, so that many assignments fit."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(n_bins, size=n_rows)
    nodes = []
    for _ in range(n_trees):
        g, h = rng.integers(-largest, largest, size=n_rows), rng.integers(1, largest, size=n_rows)
        side = rng.random(n_rows) < 0.5
        nodes += [node(np.flatnonzero(part), g, h, bins, n_bins) for part in (side, ~side)]
    return nodes, bins


def all_solutions(nodes, n_rows, n_bins):
    return [
        np.array(bins)
        for bins in product(range(n_bins), repeat=n_rows)
        if all(np.array_equal(node(n.rows, *spread(n, n_rows), np.array(bins), n_bins).sums, n.sums) for n in nodes)
    ]


def spread(given, n_rows):
    g, h = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    g[given.rows], h[given.rows] = given.g, given.h
    return g, h


@pytest.mark.parametrize("seed", range(12))
def test_what_is_proved_holds_in_every_solution(seed):
    nodes, bins = random_nodes(seed)
    system = histogram_system(7, nodes)
    counts = proved_counts(system)
    solutions = all_solutions(nodes, 7, 3)
    assert any(np.array_equal(found, bins) for found in solutions)
    for found in solutions:
        true = np.zeros_like(counts)
        np.add.at(true, (system.group_of, found), 1)
        assert (counts[counts != UNKNOWN] == true[counts != UNKNOWN]).all()


def test_some_of_these_cases_have_several_solutions_and_some_one():
    """Otherwise the test above could not fail."""
    numbers = [len(all_solutions(random_nodes(seed)[0], 7, 3)) for seed in range(12)]
    assert min(numbers) == 1
    assert max(numbers) > 1


@pytest.mark.parametrize("seed", range(3))
def test_fine_weights_place_every_row(seed):
    nodes, bins = random_nodes(seed, n_rows=60, n_bins=8, n_trees=3, largest=1 << 40)
    system = histogram_system(60, nodes)
    counts = proved_counts(system)
    assert np.array_equal(np.argmax(counts[system.group_of], axis=1), bins)
    assert (counts[system.group_of, bins] == 1).all()


def test_rows_that_no_sum_tells_apart_are_one_group():
    rows, g, h = np.arange(4), np.array([5, 5, 7, 9]), np.array([2, 2, 3, 4])
    bins = np.array([0, 1, 0, 1])
    system = histogram_system(4, [node(rows, g, h, bins, 2)])
    counts = proved_counts(system)
    shared = system.group_of[0]
    assert shared == system.group_of[1]
    assert counts[shared].tolist() == [1, 1]
    assert counts[system.group_of[2]].tolist() == [1, 0]


def test_sums_that_no_rows_have_are_told():
    nodes, _ = random_nodes(0, n_rows=20, n_bins=4, largest=1 << 30)
    wrong = nodes[0].sums.copy()
    wrong[0] += 1
    nodes[0] = NodeSums(nodes[0].rows, nodes[0].g, nodes[0].h, wrong)
    with pytest.raises(InconsistentSumsError):
        proved_counts(histogram_system(20, nodes))


@pytest.mark.parametrize("seed", range(8))
def test_meeting_in_the_middle_finds_all_ways(seed):
    rng = np.random.default_rng(seed)
    g, h, limits = rng.integers(-4, 4, size=5), rng.integers(0, 4, size=5), rng.integers(0, 3, size=5)
    chosen = np.array([rng.integers(limit + 1) for limit in limits])
    target = (int(g @ chosen), int(h @ chosen))
    ways = [w for w in product(*(range(limit + 1) for limit in limits)) if (g @ w, h @ w) == target]
    found = count_ranges(g, h, limits, target, budget=10_000)
    assert found is not None
    assert found.least.tolist() == np.min(ways, axis=0).tolist()
    assert found.most.tolist() == np.max(ways, axis=0).tolist()
    assert (
        count_ranges(np.arange(1, 30), np.ones(29, dtype=np.int64), np.ones(29, dtype=np.int64), (200, 14), 50) is None
    )


@pytest.mark.parametrize("seed", range(8))
def test_elimination_fixes_what_all_solutions_share(seed):
    rng = np.random.default_rng(seed)
    matrix, limits = rng.integers(-3, 4, size=(3, 6)), rng.integers(1, 3, size=6)
    true = np.array([rng.integers(limit + 1) for limit in limits])
    right = matrix @ true
    every = [w for w in product(*(range(limit + 1) for limit in limits)) if np.array_equal(matrix @ w, right)]
    positions, values = fixed_unknowns(matrix, right, limits, budget=10_000)
    assert len(set(positions.tolist())) == len(positions)
    for way in every:
        assert np.array(way)[positions].tolist() == values.tolist()
    shared = [k for k in range(6) if len({way[k] for way in every}) == 1 and matrix[:, k].any()]
    assert sorted(positions.tolist()) == shared
