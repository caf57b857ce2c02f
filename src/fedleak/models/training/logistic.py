"""Softmax regression, without bias unless asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError
from fedleak.models.linear import LinearModel, Link

MAX_ITERATIONS = 300


def train_logistic(
    rows: FloatArray, labels: AnyArray, columns: Sequence[str], n_classes: int, *, l2: float, with_bias: bool
) -> LinearModel:
    """Newton-like descent on the regularised likelihood; ``l2`` is the weight of ||theta||^2 / 2 per row."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    found = np.unique(labels)
    if len(found) != n_classes:
        raise InputError(f"training rows must show all {n_classes} classes; got {len(found)}. Use more rows")
    estimator = LogisticRegression(C=1.0 / (l2 * len(rows)), fit_intercept=with_bias, max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        # A cap on the iterations is a choice of the training, not a defect of the model that is served.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(rows, labels)
    weights = np.asarray(estimator.coef_, dtype=np.float64)
    bias = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), (len(weights),)).copy()
    return LinearModel(tuple(columns), weights, bias, Link.SIGMOID if len(weights) == 1 else Link.SOFTMAX)
