"""The gradient of a party's first fully connected layer, batch by batch, never two of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, Value


@dataclass(frozen=True, eq=False)
class LayerGradient(Value):
    """Times the size of the batch, so that it is a plain sum over rows: weight = sum v_n h_n^T, bias = sum v_n."""

    weight: FloatArray  # (outputs, inputs)
    bias: FloatArray


# From the first batch again at every call.
GradientStream = Callable[[], Iterator[LayerGradient]]


@dataclass(frozen=True, eq=False)
class Span(Value):
    """Of the v_n of a batch's rows: an orthonormal ``basis``, a row each, and how far above rounding the weakest of
    them stands: the singular value that belongs to the last of the rows, as a share of the largest. Rounding turns
    weak directions, and of rows with the same input only the sum of their v_n is there: one direction is missing."""

    basis: FloatArray
    weakest: float


def span_of(weight: FloatArray, n_rows: int, visible: float) -> Span:
    """Eigenvectors of W W^T whose singular value is above ``visible`` times the largest, at most one a row."""
    values, vectors = np.linalg.eigh(weight @ weight.T)
    largest = max(float(values[-1]), 1e-300)
    count = min(n_rows, int((values > visible**2 * largest).sum()))
    last = float(values[-n_rows]) if n_rows <= len(values) else 0.0
    return Span(np.ascontiguousarray(vectors[:, len(values) - count :].T), float(np.sqrt(max(last, 0.0) / largest)))
