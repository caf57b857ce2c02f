"""An explanation in place of the model: what each column contributed to a row's prediction."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import InputError
from fedleak.models.linear import LinearModel, Link
from fedleak.models.model import Model


def contributions(model: Model, rows: FloatArray, confidences: FloatArray) -> FloatArray:
    """theta_kj (x_j - mean x_j) for the predicted class k, its parameters taken against the classes' mean.

    These are the Shapley values of the score of a linear model with independent columns; they sum to the score's
    distance from its average.
    """
    if not isinstance(model, LinearModel):
        raise InputError(f'reveal = "contributions" must go with a logistic model; got {type(model).__name__}')
    weights = np.vstack([-model.weights, model.weights]) if model.link is Link.SIGMOID else model.weights
    relative = weights - weights.mean(axis=0)
    predicted = np.argmax(np.nan_to_num(confidences), axis=1)
    result: FloatArray = relative[predicted] * (rows - rows.mean(axis=0))
    return result
