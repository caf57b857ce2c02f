"""A logistic regression behind any preparation of its columns, read as the linear model of the table that it is.

Scalers, one-hot encoders, word counts and imputers leave the score a sum of one term a column. Where the terms of the
hidden columns are straight lines, and own columns are numbers or a column a level, the score is linear: weights that
give one half of some answers must give the other half to the last digits, or the model is not taken for linear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.models.score_models import LinearModel, Link

READ = ("LogisticRegression", "LogisticRegressionCV")
MOST_ROWS, PROBES_A_WEIGHT, MORE_PROBES = 1000, 2, 40
SAME = 1e-9  # by which sums in another order may differ, against the largest score
SEED = 0  # the same probes in every call


def linear_pipeline(
    model: Any,
    prepared: Callable[[FloatArray], Any],
    columns: tuple[str, ...],
    rows: FloatArray,
    hidden: IntArray,
) -> LinearModel | None:
    """``prepared`` makes of rows in numbers what the model takes; None where the model is no linear one of them."""
    steps = getattr(model, "steps", None)
    if not steps or type(steps[-1][1]).__name__ not in READ:
        return None
    probes = _probes(rows, hidden)
    scores = np.asarray(model.decision_function(prepared(probes)), dtype=np.float64)
    scores = scores[:, None] if scores.ndim == 1 else scores
    fitted = _fitted(np.column_stack([np.ones(len(probes)), probes]), scores)
    if fitted is None:
        return None
    link = Link.SIGMOID if scores.shape[1] == 1 else Link.SOFTMAX
    return LinearModel(columns, np.ascontiguousarray(fitted[1:].T), fitted[0].copy(), link)


def _probes(rows: FloatArray, hidden: IntArray) -> FloatArray:
    """Real rows, with hidden columns anywhere in their range, or at its ends where they are yes or no."""
    rng = np.random.default_rng(SEED)
    n_probes = 4 * (PROBES_A_WEIGHT * (rows.shape[1] + 1) + MORE_PROBES)
    chosen: FloatArray = rows[rng.integers(len(rows), size=max(n_probes, min(len(rows), MOST_ROWS)))].copy()
    low, high = rows[:, hidden].min(axis=0), rows[:, hidden].max(axis=0)
    within = low + rng.random((len(chosen), len(hidden))) * (high - low)
    whole = np.isin(rows[:, hidden], (0.0, 1.0)).all(axis=0)
    chosen[:, hidden] = np.where(whole, np.rint(within), within)
    return chosen


def _fitted(design: FloatArray, scores: FloatArray) -> AnyArray | None:
    width = np.maximum(np.abs(design).max(axis=0), 1e-300)  # columns in their own units
    found: AnyArray = np.linalg.lstsq(design[::2] / width, scores[::2], rcond=None)[0] / width[:, None]
    missed = np.abs(design[1::2] @ found - scores[1::2])
    return found if (missed <= SAME * (1.0 + np.abs(scores).max())).all() else None
