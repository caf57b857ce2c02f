"""Gradients over made-up pictures: rectangles of light on a ground, whose differences are few and far between."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations, equations_of
from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.dense_top import top_of
from fedleak.attacks.networks.layer_factors import factors_of
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_torch import arrays_of, gradients, tensors_of
from fedleak.models.layers import layer_of_line

N_CLASSES, SIDE = 4, 12
SMALL = ("flatten", "linear 96", "activation relu", "linear 16", "activation relu", f"linear {N_CLASSES}")


def pictures_of(n_rows: int, rng: np.random.Generator, *, side: int = SIDE, dark: bool = False) -> FloatArray:
    """``dark``: on a black ground, as digits are; they come apart more easily."""
    pictures = np.zeros((n_rows, 1, side, side))
    for one in pictures:
        one[:] = 0.0 if dark else rng.random()
        for _ in range(4):
            (top, left), (high, wide) = rng.integers(0, side - 2, 2), rng.integers(2, side // 2 + 1, 2)
            one[0, top : top + high, left : left + wide] = rng.random()
    return pictures.astype(np.float32)


def picture_gradient(
    lines=SMALL, *, n_rows: int, seed: int, side: int = SIDE, dark: bool = False
) -> tuple[ClientGradient, FloatArray, IntArray]:
    """A gradient in float32, and the pictures and labels behind it."""
    import torch

    rng = np.random.default_rng(seed)
    network = initial_network((1, side, side), [layer_of_line(line) for line in lines], "torch", rng)
    pictures, labels = pictures_of(n_rows, rng, side=side, dark=dark), rng.integers(0, N_CLASSES, n_rows)
    parameters = tensors_of(network.parameters, wanted=True)
    made = arrays_of(gradients(network, parameters, torch.tensor(pictures), torch.tensor(labels)))
    values = {name: np.asarray(one, np.float64) for name, one in made.items()}
    return ClientGradient(0, network, values, 2.0**-24, None, n_rows), pictures, labels


def equations_of_gradient(seen: ClientGradient, first: FloatArray | None = None) -> tuple[Equations, FloatArray]:
    """With the first layer's [dW | db], or another in its place."""
    top = top_of(seen.network)
    assert top is not None
    gradient = top.gradient_of(0, seen.values) if first is None else first
    factors = factors_of(gradient, seen.epsilon if first is None else 2.0**-53)
    assert factors is not None
    return equations_of(top, factors, seen.values, seen.epsilon), gradient
