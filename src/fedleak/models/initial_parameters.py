"""The first parameters of a layered network, as frameworks and papers draw them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError
from fedleak.models.layered import LayeredNetwork, named_shapes
from fedleak.models.layers import BatchNorm, Layer, Shape

SCHEMES = ("torch", "glorot", "kaiming", "uniform")


def initial_network(
    input_shape: Shape, layers: Sequence[Layer], scheme: str, rng: np.random.Generator, *, dtype: str = "float32"
) -> LayeredNetwork:
    """``torch``: uniform up to 1/√(inputs), weights and biases, torch's own way. ``glorot``: uniform up to
    √(6/(inputs + outputs)), biases zero, Keras's way. ``kaiming``: normal with deviation √(2/inputs), biases zero.
    ``uniform``: from -1/2 to 1/2, weights and biases, as the code beside DLG has it (Zhu et al. 2019)."""
    if scheme not in SCHEMES:
        raise InputError(f"initialisation must be one of {', '.join(SCHEMES)}; got {scheme!r}")
    parameters: dict[str, AnyArray] = {}
    n_inputs = 1
    for name, shape in named_shapes(input_shape, layers).items():
        layer, _, role = name.partition(".")
        if isinstance(layers[int(layer)], BatchNorm):
            drawn = np.full(shape, 1.0 if role in ("weight", "running_var") else 0.0)
        else:
            n_inputs = prod(shape[1:]) if role == "weight" else n_inputs  # a bias comes after its weight
            drawn = _drawn(shape, n_inputs, scheme, rng, is_bias=role == "bias")
        parameters[name] = drawn.astype(dtype)
    return LayeredNetwork(tuple(input_shape), tuple(layers), parameters)


def _drawn(shape: Shape, n_inputs: int, scheme: str, rng: np.random.Generator, *, is_bias: bool) -> FloatArray:
    if scheme == "uniform":
        return rng.uniform(-0.5, 0.5, shape)
    if scheme == "torch":
        return rng.uniform(-1, 1, shape) / sqrt(n_inputs)
    if is_bias:
        return np.zeros(shape)
    if scheme == "kaiming":
        return rng.standard_normal(shape) * sqrt(2 / n_inputs)
    n_outputs = shape[0] * prod(shape[2:])  # of a convolution, every place of its kernel counts
    return rng.uniform(-1, 1, shape) * sqrt(6 / (n_inputs + n_outputs))
