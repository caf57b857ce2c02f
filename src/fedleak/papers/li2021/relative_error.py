"""The paper's figure: mean error over mean absolute value. And what the best constant a column gets in it."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.knowledge import Knowledge

NOTHING = Knowledge()


def relative_error(guess: FloatArray, truth: FloatArray, knowledge: Knowledge = NOTHING, owner: str = "") -> float:
    """Over the cells that were not known."""
    unknown = ~knowledge.cell_mask(owner, np.arange(len(truth)), truth.shape[1:])
    return float(np.mean(np.abs(guess - truth)[unknown]) / np.mean(np.abs(truth)[unknown]))


def median_error(truth: FloatArray) -> float:
    """Of the true median of every column: more than an attacker knows."""
    return relative_error(np.broadcast_to(np.median(truth, axis=0), truth.shape), truth)
