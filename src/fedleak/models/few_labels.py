"""A classifier learnt from a few labelled rows among many: logistic regression, strongly held back.

One head for two uses: an attack puts it on what a network makes of the rows, and the blind answer beside it on the raw
columns. So what the network adds is all that sets them apart. The penalty was chosen on other draws of three tables
(``docs/attacks/model-completion.md``), with self-training, mixtures and spreading of labels beside it, which helped one
table and cost another.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

PENALTY = 10.0  # of the squared weights, halved, beside the summed loss
MOST_DIRECTIONS = 60  # of wider rows, their leading principal directions


def class_chances(rows: FloatArray, known: IntArray, classes: IntArray, n_classes: int) -> FloatArray:
    """(rows, classes): ``known`` are positions of the labelled rows, ``classes`` theirs. Uniform without any."""
    if not len(known) or not rows.shape[1]:
        return np.full((len(rows), n_classes), 1 / n_classes)
    scaled = _directions(rows)
    weights, offsets = _fitted(scaled[known], np.eye(n_classes)[classes])
    return _softmax(scaled @ weights + offsets)


def _directions(rows: FloatArray) -> FloatArray:
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    if scaled.shape[1] <= MOST_DIRECTIONS:
        return np.asarray(scaled)
    left, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(left[:, :MOST_DIRECTIONS] * sizes[:MOST_DIRECTIONS])


def _fitted(rows: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (columns, classes) and offsets that minimise the penalised log loss; offsets are not penalised."""
    from scipy.optimize import minimize

    width, n_classes = rows.shape[1], wanted.shape[1]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat[n_classes:].reshape(width, n_classes)
        chances = _softmax(rows @ weights + flat[:n_classes])
        misfit = chances - wanted
        value = -np.log(np.maximum((chances * wanted).sum(axis=1), 1e-300)).sum() + PENALTY / 2 * (weights**2).sum()
        return float(value), np.concatenate([misfit.sum(axis=0), (rows.T @ misfit + PENALTY * weights).ravel()])

    shares = np.log(np.maximum(wanted.mean(axis=0), 1e-3))  # a class without a label stays unlikely
    start = np.concatenate([shares - shares.mean(), np.zeros(width * n_classes)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return np.asarray(found[n_classes:].reshape(width, n_classes)), np.asarray(found[:n_classes])


def _softmax(scores: FloatArray) -> FloatArray:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
