"""What a way of solving for the Gram matrix returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class GramSolution:
    factor: FloatArray  # (rows, n)
    end_scores: FloatArray  # X W after the last update
    method: str
    condition: float
    rank: int


@dataclass(frozen=True)
class NotIdentified:
    why: str
    rank: int
    undetermined: bool = False  # a search ended without an answer: that there is none is not shown


def factored(gram: FloatArray, width: int, noise: float) -> tuple[FloatArray, int]:
    """F (rows, width) of the closest Gram matrix of that rank, and how many directions stand out of the noise."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    order = np.argsort(values)[::-1][: min(width, len(values))]
    kept = np.maximum(values[order], 0.0)
    factor = np.zeros((len(gram), width))
    factor[:, : len(order)] = vectors[:, order] * np.sqrt(kept)
    floor = max(noise, 1e-14 * float(kept[0])) if len(kept) else noise
    return factor, int(np.sum(kept > floor))
