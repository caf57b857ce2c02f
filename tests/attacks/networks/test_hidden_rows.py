"""Derivatives of the top are exact, and rows come out of one gradient."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.dense_top import moved, passed, top_of
from fedleak.attacks.networks.solved_batch import solved_batch
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_torch import arrays_of, gradients, tensors_of
from fedleak.models.layers import layer_of_line

LAYERS = ("linear 20", "activation sigmoid", "linear 12", "activation tanh", "linear 3")


def network_of(layers=LAYERS, seed=0, width=6):
    lines = [layer_of_line(line) for line in layers]
    return initial_network((width,), lines, "torch", np.random.default_rng(seed), dtype="float64")


def gradient_of(network, rows, labels) -> ClientGradient:
    import torch

    parameters = tensors_of(network.parameters, dtype="float64", wanted=True)
    found = arrays_of(gradients(network, parameters, torch.tensor(rows), torch.tensor(labels)))
    return ClientGradient(0, network, found, 2.0**-53, None, None)


def test_derivatives_are_those_of_small_moves():
    rng, top = np.random.default_rng(0), top_of(network_of())
    first, way, labels = rng.standard_normal((4, 20)), rng.standard_normal((1, 20)), np.eye(3)[[0, 1, 2, 0]]
    inputs, errors = moved(top, passed(top, first, labels), way, np.zeros((1, 3)))
    up, down = (passed(top, first + sign * 1e-6 * way, labels) for sign in (1, -1))
    for place in range(3):
        np.testing.assert_allclose(errors[place][:, 0], (up.errors[place] - down.errors[place]) / 2e-6, atol=1e-8)
        if place:
            slope = (up.inputs[place] - down.inputs[place]) / 2e-6
            np.testing.assert_allclose(inputs[place][:, 0], slope, atol=1e-8)


def test_rows_and_labels_come_out_of_one_gradient():
    rng, network = np.random.default_rng(3), network_of()
    rows, labels = rng.random((3, 6)), np.array([2, 0, 2])
    found = solved_batch(gradient_of(network, rows, labels), rng)
    assert found.fits
    assert found.counts.counts.tolist() == [1, 0, 2]
    nearest = np.abs(found.hidden.rows[:, None] - rows[None]).max(axis=2)
    assert nearest.min(axis=0).max() < 1e-8
    assert (labels[nearest.argmin(axis=1)] == found.hidden.labels).all()


def test_a_kink_without_zeros_is_told():
    network = network_of(("linear 20", "activation leaky-relu", "linear 3"))
    found = solved_batch(gradient_of(network, np.random.default_rng(0).random((2, 6)), np.array([0, 1])), None)
    assert found.hidden is None
    assert "kinks" in found.why


def test_in_single_precision_residuals_are_of_the_size_of_rounding_and_errors_as_expected():
    rng = np.random.default_rng(7)
    network = network_of(("linear 96", "activation sigmoid", "linear 4"), seed=5, width=60)
    rows, labels = rng.random((8, 60)), np.array([0, 0, 0, 1, 1, 2, 3, 3])
    exact = gradient_of(network, rows, labels)
    single = {name: value.astype(np.float32).astype(np.float64) for name, value in exact.values.items()}
    found = solved_batch(ClientGradient(0, network, single, 2.0**-24, None, 8), rng)
    off = np.abs(found.hidden.rows[:, None] - rows[None])
    error = np.sqrt((off**2).mean(axis=2).min(axis=1))
    assert found.fits
    assert found.hidden.misfit < 2.0
    assert (error < 4 * found.hidden.deviation).all()
    assert error.max() > found.hidden.deviation.min() / 20
