"""Rows into a first fully connected layer with ReLU after it, from one gradient, and what proves them.

The errors d_k come out of their zeros alone (``sparse_errors``). The gradient is then linear in the rows [h_k, 1], each
up to a factor, which its last entry, 1, fixes. Nothing of that has used what the network computes: it is left as a
check of every row by itself, since the network's own error at h_k, for one of the labels, is d_k. And with these labels
the gradients of all layers must come out to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations
from fedleak.attacks.networks.dense_top import DenseTop, passed
from fedleak.attacks.networks.hidden_rows import HiddenRows, weighed
from fedleak.attacks.networks.sparse_errors import SparseErrors
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value

CONFIRMED = 1e-2  # of d_k's length: what the network's own error at the row may differ in
BLANK = 1e-6  # of a row's length: a last entry so small fixes no factor


@dataclass(frozen=True, eq=False)
class KinkedRows(Value):
    """``confirmed``: of each row, that the network's own error there is the one that its zeros gave."""

    hidden: HiddenRows
    confirmed: BoolArray
    n_starts: int


def kinked_rows(
    equations: Equations, gradient: FloatArray, candidates: Iterable[SparseErrors], fits: float
) -> KinkedRows | None:
    """``gradient`` is [dW | db] of the layer. Of all that were tried, the first with a misfit of at most ``fits`` whose
    rows are all confirmed; else the one with most such rows, None where there is none."""
    best: KinkedRows | None = None
    for found in candidates:
        tried = _rows(equations, gradient, found)
        if tried is not None and (best is None or tried.confirmed.sum() > best.confirmed.sum()):
            best = tried
        if best is not None and best.confirmed.all() and best.hidden.misfit <= fits:
            break
    return best


def _rows(equations: Equations, gradient: FloatArray, found: SparseErrors) -> KinkedRows | None:
    noise = equations.factors.noise[:, None]
    whole = np.linalg.lstsq(found.errors / noise, gradient / noise, rcond=None)[0]
    factors = whole[:, -1]
    if (np.abs(factors) <= BLANK * np.linalg.norm(whole, axis=1)).any():
        return None
    rows, errors = whole[:, :-1] / factors[:, None], (found.errors * factors).T * len(whole)
    labels, off = labelled(equations.top, rows, errors)
    return KinkedRows(weighed(equations, labels, rows), off <= CONFIRMED, found.n_starts)


def labelled(top: DenseTop, rows: FloatArray, errors: FloatArray) -> tuple[IntArray, FloatArray]:
    """Of each row, the label at which the network's own error is nearest to the one found, and how far it is."""
    first = top.layers[0]
    outputs = rows @ first.weight.T + (0.0 if first.bias is None else first.bias)
    n_classes = len(top.layers[-1].weight)
    own = [passed(top, outputs, np.eye(n_classes)[np.full(len(rows), label)]).errors[0] for label in range(n_classes)]
    far = np.array([np.linalg.norm(one - errors, axis=1) for one in own])
    labels = far.argmin(axis=0)
    return labels, far.min(axis=0) / np.maximum(np.linalg.norm(errors, axis=1), 1e-300)
