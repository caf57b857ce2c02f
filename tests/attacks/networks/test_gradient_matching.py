"""Distances of gradients are what their papers say, and what a search finds is an estimate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_hidden_rows import gradient_of

from fedleak.attacks.networks.dummy_batch import DummyBatch, Objective, matched_batch
from fedleak.attacks.networks.gradient_distances import (
    apart,
    cosine,
    kernel,
    squared,
    statistics_off,
)
from fedleak.attacks.networks.gradient_matching import CosineMatching
from fedleak.attacks.networks.label_counts import counts_of
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_torch import tensors_of, with_statistics
from fedleak.models.layers import layer_of_line

SMALL = ("flatten", "linear 16", "activation sigmoid", "linear 3")


def network_of(lines=SMALL):
    return initial_network(
        (1, 4, 4), [layer_of_line(line) for line in lines], "torch", np.random.default_rng(1), dtype="float64"
    )


def seen_batch(n_rows, lines=SMALL):
    rows = np.random.default_rng(2).random((n_rows, 1, 4, 4))
    return rows, gradient_of(network_of(lines), rows, np.arange(n_rows) % 3)


@pytest.mark.parametrize("distance", [squared, cosine, kernel])
def test_a_distance_is_zero_at_the_gradient_alone(distance):
    seen = [torch.tensor([1.0, 2.0, -1.0]), torch.tensor([[0.5, -0.5]])]
    other = [seen[0] + torch.tensor([0.3, 0.0, 0.0]), seen[1]]
    assert float(distance(seen, seen)) == pytest.approx(0.0, abs=1e-6)
    assert float(distance(other, seen)) > 1e-3


def test_distances_by_hand():
    seen, mine = [torch.tensor([3.0, 4.0])], [torch.tensor([4.0, 3.0])]
    assert float(squared(mine, seen)) == pytest.approx(2 / 25)
    assert float(cosine(mine, seen)) == pytest.approx(1 - 24 / 25)
    assert float(kernel(mine, seen)) == pytest.approx(1 - np.exp(-1 / 0.25))
    assert float(apart(torch.tensor([[0.0], [2.0]]))) == 1.0


def test_statistics_of_the_very_rows_are_not_off():
    network = network_of(("convolution 2 3", "batch-norm", "flatten", "linear 3"))
    rows = np.random.default_rng(2).random((40, 1, 4, 4))
    gathered = with_statistics(network, rows)
    parameters = tensors_of(gathered.parameters, dtype="float64")
    near = float(statistics_off(gathered, parameters, torch.tensor(rows)))
    far = float(statistics_off(gathered, parameters, torch.tensor(rows + 1.0)))
    assert near < 0.05 < far


@pytest.mark.parametrize("together", [0.0, 1e-6])
def test_one_picture_is_found(together):
    rows, seen = seen_batch(1)
    objective = Objective(squared, together=together, starts=2 if together else 1)
    found = matched_batch(DummyBatch(seen, objective, 1, np.array([0])), 400, np.random.default_rng(0))
    assert np.abs(found.inputs - rows).max() < 1e-3
    assert found.evaluations <= 400


def test_the_label_of_one_row_is_where_the_gradient_falls():
    for label in range(3):
        rows, network = np.random.default_rng(2).random((1, 1, 4, 4)), network_of()
        assert counts_of(gradient_of(network, rows, np.array([label])), 1).labels.tolist() == [label]


def test_options_reach_the_search():
    attack = CosineMatching(statistics=0.1, starts=3, together=0.01)
    assert (attack.objective.statistics, attack.objective.starts, attack.objective.together) == (0.1, 3, 0.01)
