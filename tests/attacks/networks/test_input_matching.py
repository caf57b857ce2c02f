"""Step III: rows that each go their own way to the end, and pictures that fit or say that they do not."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.input_matching import FITS, _pooled_first, matched_inputs
from fedleak.attacks.networks.rowwise_descent import descended
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_torch import forward, tensors_of
from fedleak.models.layers import Activation, Pooling, layer_of_line

torch = pytest.importorskip("torch")

LINES = ("convolution 24 3 padding=1", "activation relu", "pooling max 2", "flatten", "linear 4")


def small_network(seed: int = 0):
    return initial_network((1, 8, 8), [layer_of_line(line) for line in LINES], "glorot", np.random.default_rng(seed))


def outputs(network, pictures):
    made = forward(network, tensors_of(network.parameters), torch.tensor(pictures, dtype=torch.float32), stop=4)
    return made.numpy().astype(np.float64)


def quadratic(values, rows):
    """Axes from 1 to 1e4; the second row's answer lies outside the box."""
    scales, wanted = torch.logspace(0, 4, 8), torch.tensor([[0.3], [1.5], [0.6]])
    off = values - wanted[rows]
    return (scales * off**2).sum(dim=1), 2 * scales * off


@pytest.mark.parametrize("boxed", [False, True])
def test_every_row_goes_to_its_own_end(boxed) -> None:
    found = descended(quadratic, torch.full((3, 8), 0.5), 100, enough=1e-12, boxed=boxed)
    wanted = torch.tensor([[0.3], [1.0 if boxed else 1.5], [0.6]]).expand(3, 8)
    assert torch.allclose(found, wanted, atol=1e-4)


def test_rows_do_not_depend_on_their_companions() -> None:
    alone = descended(
        lambda values, rows: quadratic(values, rows + 2), torch.full((1, 8), 0.5), 60, enough=0, boxed=False
    )
    together = descended(quadratic, torch.full((3, 8), 0.5), 60, enough=0, boxed=False)
    assert torch.allclose(alone[0], together[2], atol=1e-6)


def test_the_maximum_before_the_activation_is_the_same_function() -> None:
    network, pictures = small_network(), np.random.default_rng(1).random((3, 1, 8, 8))
    swapped = _pooled_first(network)
    assert [type(layer) for layer in swapped.layers[1:3]] == [Pooling, Activation]
    np.testing.assert_array_equal(outputs(network, pictures), outputs(swapped, pictures))


def test_what_can_be_made_fits_and_what_cannot_does_not() -> None:
    network = small_network()
    rows, columns = np.mgrid[:8, :8] / 8
    pictures = np.stack([rows, columns, rows * columns])[:, None]
    wanted = outputs(network, pictures)
    wanted[2] = np.random.default_rng(2).random(wanted.shape[1])  # no picture makes it
    found = matched_inputs(network, 4, wanted, n_steps=40)
    assert found.fits.tolist() == [True, True, False]
    assert found.misfits[2] > 100 * FITS
    assert np.abs(found.values[:2] - pictures[:2]).max() < 1e-3
