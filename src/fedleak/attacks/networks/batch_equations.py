"""Equations of one gradient on the rows that went into its first fully connected layer.

The rows [h_k, 1] = q_k B^T lie in the space that the gradient shows (``layer_factors``), and their last entry is 1. The
error d_k is a function of h_k and its label, so 1/K sum of d_k q_k^T and the gradients of all later layers must come
out as they were seen: outputs x K equations and more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.dense_top import Blocks, DenseTop, Passed, passed
from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.core.arrays import FloatArray, Value


@dataclass(frozen=True, eq=False)
class Equations(Value):
    """Of one gradient. ``blocks``: the first layer's in the basis of its rows, then later layers' [dW | db]."""

    top: DenseTop
    factors: LayerFactors
    blocks: tuple[FloatArray, ...]
    epsilon: float

    @property
    def whole(self) -> FloatArray:
        """[W | b] of the first layer, or W alone where it has no bias."""
        first = self.top.layers[0]
        return first.weight if first.bias is None else np.column_stack([first.weight, first.bias])

    @property
    def folded(self) -> FloatArray:
        """(outputs, K): the first layer in the basis of the rows."""
        return np.asarray(self.whole @ self.factors.basis)

    @property
    def n_equations(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def ones(self) -> FloatArray | None:
        """(K,): a row's mix times it is the entry for the bias, 1; None where there is no bias."""
        return None if self.top.layers[0].bias is None else np.asarray(self.factors.basis[-1])

    def through(self, mixes: FloatArray, labels: FloatArray) -> Passed:
        return passed(self.top, mixes @ self.folded.T, labels)


def equations_of(top: DenseTop, factors: LayerFactors, gradient: dict[str, FloatArray], epsilon: float) -> Equations:
    later = [top.gradient_of(place, gradient) for place in range(1, len(top.layers))]
    return Equations(top, factors, (factors.mixed, *later), epsilon)


def free_directions(equations: Equations) -> tuple[FloatArray, FloatArray]:
    """(K, free): how a row's mix may move, and the shortest mix: its entry for the bias stays 1."""
    ones = equations.ones
    if ones is None:
        return np.eye(equations.factors.n_rows), np.zeros(equations.factors.n_rows)
    return np.linalg.svd(ones[None])[2][1:].T, ones / (ones @ ones)


def start_from(equations: Equations, rows: FloatArray) -> FloatArray:
    """Mixes nearest to such rows."""
    free, shortest = free_directions(equations)
    whole = rows if equations.ones is None else np.column_stack([rows, np.ones(len(rows))])
    return shortest + (whole @ equations.factors.basis) @ free @ free.T


def residuals(equations: Equations, at: Passed, mixes: FloatArray) -> Blocks:
    inputs = (mixes, *at.inputs[1:])
    return [
        errors.T @ given / len(mixes) - block
        for errors, given, block in zip(at.errors, inputs, equations.blocks, strict=True)
    ]
