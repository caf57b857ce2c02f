"""torch modules: a Sequential of Linear and ReLU layers, with dropout, which does nothing at prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import UnreadableModelError
from fedleak.models.linear import LinearModel, Link
from fedleak.models.model import Model
from fedleak.models.network import NetworkModel

ALLOWED = "Linear, ReLU, Dropout, Identity, Flatten, and Softmax or Sigmoid at the end"


def from_torch(module: Any, columns: Sequence[str] | None) -> Model:
    """The module's own confidences; without a final Softmax or Sigmoid its outputs are taken as logits."""
    layers = list(_flat(module))
    link_layer = type(layers[-1]).__name__ if layers else ""
    weights: list[FloatArray] = []
    biases: list[FloatArray] = []
    after_relu = True
    for layer in layers[:-1] if link_layer in ("Softmax", "Sigmoid") else layers:
        name = type(layer).__name__
        if name == "Linear":
            if not after_relu:
                raise UnreadableModelError("a torch model must have a ReLU between two Linear layers; it has none")
            weight = layer.weight.detach().cpu().double().numpy()
            weights.append(weight.copy())
            biases.append(np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().cpu().double().numpy())
            after_relu = False
        elif name == "ReLU" and weights and not after_relu:
            after_relu = True
        elif name not in ("Dropout", "Identity", "Flatten"):
            raise UnreadableModelError(f"a torch model must be a Sequential of {ALLOWED}; got {name}")
    if not weights or after_relu:
        raise UnreadableModelError("a torch model must end in a Linear layer, or one with Softmax or Sigmoid after it")
    link = _link(link_layer, len(weights[-1]))
    names = tuple(columns) if columns is not None else tuple(f"x{i}" for i in range(weights[0].shape[1]))
    if len(weights) == 1:
        return LinearModel(names, weights[0], biases[0], link)
    return NetworkModel(names, tuple(weights), tuple(biases), link)


def _flat(module: Any) -> Iterator[Any]:
    if type(module).__name__ != "Sequential":
        yield module
        return
    for child in module:
        yield from _flat(child)


def _link(last: str, n_outputs: int) -> Link:
    if n_outputs == 1:
        return Link.SIGMOID
    return Link.SIGMOID_EACH if last == "Sigmoid" else Link.SOFTMAX
