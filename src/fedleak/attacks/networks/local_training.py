"""A client's local training, run again: what its steps send of every layer, as a function of rows, labels and visits.

Rows come into the first fully connected layer as they are and do not move while it trains. With d_k(t) the error of row
k in step t, the layer's part of the update is the sum of d_k [x_k, 1] with d_k the sum of d_k(t) over the steps that
visit k; and what enters the layer in step t is W x_k - rate/K times the sum of (x_l x_k + 1) d_l over steps before t.
So what rows are shows in W x_k and in products of rows alone. Visits are weights, (steps, rows): 1 where a step's batch
has a row. Runs on ``Moving`` arrays and on tensors, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.attacks.networks.dense_top import DenseTop
from fedleak.attacks.networks.moving_arrays import Moving
from fedleak.core.arrays import FloatArray, Value
from fedleak.models.layers import Activation

Numbers = Any  # Moving, or torch.Tensor, which is not imported here
Layers = list[tuple[Numbers, Numbers | None]]  # weight, and bias where there is one


@dataclass(frozen=True, eq=False)
class LocalTraining(Value):
    top: DenseTop
    rate: float
    batch_size: int

    @property
    def entering(self) -> FloatArray:
        """[W | b] of the first layer."""
        first = self.top.layers[0]
        assert first.bias is not None
        return np.column_stack([first.weight, first.bias])

    @property
    def later(self) -> Layers:
        return [(layer.weight, layer.bias) for layer in self.top.layers[1:]]

    def sums(
        self, entered: Numbers, products: Numbers, targets: Numbers, visits: Numbers, layers: Layers
    ) -> tuple[Numbers, Layers]:
        """(rows, outputs) sums of a row's errors over its visits, and of every later layer's gradients over the steps.
        ``entered``: what the first layer gives for each row at the start; ``products``: of rows [x, 1]; ``layers``:
        ``later``, as numbers of the kind of these."""
        errors: Numbers = None
        sums: Layers = []
        for step in range(visits.shape[0]):
            moved = entered if errors is None else entered - products @ errors * (self.rate / self.batch_size)
            back, found = self._step(moved, layers, targets, visits[step])
            errors = back if errors is None else errors + back
            sums = _added(sums, found, 1.0) if sums else found
            layers = _added(layers, found, -self.rate)
        return errors, sums

    def _step(self, first: Numbers, layers: Layers, targets: Numbers, weights: Numbers) -> tuple[Numbers, Layers]:
        """Errors of every row at the first layer, times its weight, and gradients of later layers."""
        value, inputs, slopes = first, [], []
        for place, (weight, bias) in enumerate(layers):
            value, slope = _activated(self.top.activations[place], value)
            inputs.append(value)
            slopes.append(slope)
            value = value @ weight.T if bias is None else value @ weight.T + bias
        raised = (value - _largest(value)).exp()
        error = (raised / raised.sum(1, keepdim=True) - targets) * weights[:, None]
        gradients: Layers = []
        for place in range(len(layers) - 1, -1, -1):
            weight, bias = layers[place]
            by_bias = None if bias is None else error.sum(0) * (1 / self.batch_size)
            gradients.insert(0, (error.T @ inputs[place] * (1 / self.batch_size), by_bias))
            error = error @ weight * slopes[place]
        return error, gradients


def _added(layers: Layers, found: Layers, times: float) -> Layers:
    return [
        (weight + step * times, None if bias is None or turn is None else bias + turn * times)
        for (weight, bias), (step, turn) in zip(layers, found, strict=True)
    ]


def _largest(scores: Numbers) -> Numbers:
    """Of each row; what is taken off all scores does not move their shares."""
    if isinstance(scores, Moving):
        return scores.value.max(axis=1, keepdims=True)
    return scores.detach().max(dim=1, keepdim=True).values


def _activated(layer: Activation | None, value: Numbers) -> tuple[Numbers, Numbers]:
    """Its value and its slope."""
    one = value * 0.0 + 1.0
    if layer is None:
        return value, one
    if layer.how == "tanh":
        bent = value.tanh()
        return bent, one - bent * bent
    if layer.how == "sigmoid":
        share = value.sigmoid()
        return share, share * (one - share)
    below = 0.0 if layer.how == "relu" else layer.slope
    slope = one * below + one * (1.0 - below) * (value > 0)
    return value * slope, slope
