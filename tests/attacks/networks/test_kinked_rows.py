"""ReLU: errors come out of their zeros, rows out of the errors, and the network confirms each."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.kinked_rows import kinked_rows
from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.attacks.networks.solved_batch import FITS, solved_batch
from fedleak.attacks.networks.sparse_errors import sparse_errors
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_torch import arrays_of, gradients, tensors_of
from fedleak.models.layers import layer_of_line

N_CLASSES = 4
DEEP = ("linear 160", "activation relu", "linear 24", "activation relu", f"linear {N_CLASSES}")


def batch_of(lines=DEEP, *, n_rows=10, width=40, seed=0, told=None):
    """A gradient in float32, and the rows and labels behind it."""
    import torch

    rng = np.random.default_rng(seed)
    network = initial_network((width,), [layer_of_line(line) for line in lines], "torch", rng)
    rows, labels = rng.standard_normal((n_rows, width)).astype(np.float32), rng.integers(0, N_CLASSES, n_rows)
    made = gradients(network, tensors_of(network.parameters, wanted=True), torch.tensor(rows), torch.tensor(labels))
    values = {name: np.asarray(one, np.float64) for name, one in arrays_of(made).items()}
    return ClientGradient(0, network, values, 2.0**-24, None, told), rows, labels


@pytest.mark.parametrize(("lines", "n_rows"), [(DEEP, 12), (("linear 256", "activation relu", "linear 4"), 8)])
def test_rows_and_labels_come_out_of_a_gradient_in_single_precision(lines, n_rows):
    seen, rows, labels = batch_of(lines, n_rows=n_rows, seed=3)
    found = solved_batch(seen, np.random.default_rng(1))
    assert found.fits
    assert found.why == ""
    far = np.abs(found.hidden.rows[:, None] - rows[None]).max(axis=2)
    assert far.min(axis=1).max() < 1e-4
    assert sorted(far.argmin(axis=1)) == list(range(n_rows))
    assert (labels[far.argmin(axis=1)] == found.hidden.labels).all()
    assert found.counts.counts.tolist() == np.bincount(labels, minlength=N_CLASSES).tolist()
    assert found.error.max() < 1e-4


def test_errors_with_their_zeros_come_out_of_a_span():
    rng = np.random.default_rng(0)
    true = rng.standard_normal((200, 6)) * (rng.random((200, 6)) < 0.5)
    mixed = true @ rng.standard_normal((6, 6))
    factors = LayerFactors(np.eye(6), mixed, np.full(200, 1e-12), 1e6)
    found = next(sparse_errors(factors, rng, most=2048)).errors
    cosines = np.abs((found / np.linalg.norm(found, axis=0)).T @ (true / np.linalg.norm(true, axis=0)))
    assert cosines.max(axis=0).min() > 1 - 1e-9
    assert ((found == 0).sum(axis=0)[cosines.argmax(axis=0)] == (true == 0).sum(axis=0)).all()


def test_a_dense_span_gives_nothing():
    rng = np.random.default_rng(0)
    factors = LayerFactors(np.eye(6), rng.standard_normal((60, 6)), np.full(60, 1e-12), 1e6)
    assert list(sparse_errors(factors, rng, most=256)) == []


def test_a_changed_later_gradient_is_not_called_fitting():
    seen, _, _ = batch_of(seed=4)
    changed = {name: one * (1.1 if name == "4.weight" else 1.0) for name, one in seen.values.items()}
    found = solved_batch(ClientGradient(0, seen.network, changed, seen.epsilon, None, None), np.random.default_rng(1))
    assert not found.fits
    assert "later layers" in found.why


def test_rows_of_another_network_are_not_confirmed():
    seen, _, _ = batch_of(seed=5)
    other, _, _ = batch_of(seed=6)
    mistaken = ClientGradient(0, other.network, seen.values, seen.epsilon, None, None)
    found = solved_batch(mistaken, np.random.default_rng(1))
    assert not found.fits
    assert "confirms 0 of 10" in found.why
    assert found.counts is None


def test_a_layer_without_bias_is_refused():
    seen, _, _ = batch_of(("linear 160 bias=false", "activation relu", "linear 4"), n_rows=4)
    found = solved_batch(seen, np.random.default_rng(1))
    assert found.hidden is None
    assert "no bias" in found.why


def test_a_row_that_turns_no_unit_on_is_missed_by_the_rank():
    seen, _, _ = batch_of(n_rows=6, told=7)
    found = solved_batch(seen, np.random.default_rng(1))
    assert found.hidden is None
    assert "not that of the batch of 7 rows" in found.why


def test_no_starts_no_rows():
    from fedleak.attacks.networks.batch_equations import equations_of
    from fedleak.attacks.networks.dense_top import top_of
    from fedleak.attacks.networks.layer_factors import factors_of

    seen, _, _ = batch_of(n_rows=6)
    top = top_of(seen.network)
    gradient = top.gradient_of(0, seen.values)
    equations = equations_of(top, factors_of(gradient, seen.epsilon), seen.values, seen.epsilon)
    assert kinked_rows(equations, gradient, [], FITS) is None
