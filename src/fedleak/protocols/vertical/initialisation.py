"""First weights of a linear model with one output."""

from __future__ import annotations

from math import sqrt

import numpy as np

from fedleak.core.arrays import FloatArray


def initial_weights(scheme: str, n_own: int, n_all: int, rng: np.random.Generator) -> FloatArray:
    """A party's share of the first weights; the scale depends on the whole model's width ``n_all``."""
    drawn = rng.standard_normal(n_own)  # drawn for every scheme, so that schemes share the later randomness
    scale = {
        "zero": 0.0,
        "xavier": sqrt(2 / (n_all + 1)),  # Glorot and Bengio 2010, fan-in n, fan-out 1
        "kaiming": sqrt(2 / n_all),  # He et al. 2015
        "normal": 1.0,
    }[scheme]
    return scale * drawn
