"""The linear equations that confidences of a logistic regression are (Luo et al. 2021, section IV-A).

ln v_k - ln v_k' = z_k - z_k' (eq. 7), and every z is linear in the inputs, so c classes give c - 1 equations on the
inputs that the reader does not know. A confidence of exactly 0 has no logarithm: it says that a score is very low,
not how low, so the class gives no equation in that row unless a floor is put under it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import InputError
from fedleak.models.score_models import LinearModel, Link

# Singular values below this share of the largest count as zero: logarithms of float64 confidences are good to
# about 1e-13, so a direction weaker than this holds less than three digits.
RANK_TOLERANCE = 1e-10
ONE_SIDED = 30.0  # standard deviation of the logarithm of a confidence that is indistinguishable from 0: anything below
ANYTHING = 1e12  # of a logarithm that may be off by any amount
SMALLEST_NORMAL = 1e-300  # a smaller confidence has lost its last digits
# Last digits by which a sum of this size may be off, on the model's side and on the reader's: at least, and for each
# term of a long sum. 500 terms of one sign come to a sixth of that.
FLOAT_ERRORS, PER_TERM = 4.0, 1 / 8


@dataclass(frozen=True, eq=False)
class ScoreEquations:
    """``matrix @ x = right`` for some rows, one equation a difference of two classes' scores (eq. 8)."""

    rows: IntArray  # positions of the rows that these equations are about
    difference: FloatArray  # (equations, classes): which scores are subtracted
    matrix: FloatArray  # (equations, unknowns)
    right: FloatArray  # (rows, equations)
    error: FloatArray  # (rows, equations, equations): covariance of the right side, zero where confidences are exact
    size: FloatArray  # (rows, equations): of all terms added up in an equation, by which rounding errors go
    n_terms: int  # of a score: rounding errors grow with them


@dataclass(frozen=True, eq=False)
class Equations:
    """``matrix @ x = right`` for some rows; the matrix has orthonormal rows, so its rank is its height."""

    rows: IntArray  # positions of the rows that these equations are about
    matrix: FloatArray  # (rank, unknowns)
    right: FloatArray  # (rows, rank)
    error: FloatArray  # (rows, rank, rank): covariance of the right side, zero where confidences are exact
    off: FloatArray  # (rows, rank): how far the right side can be off, by rounding errors and all that was declared

    @property
    def rank(self) -> int:
        return len(self.matrix)

    @property
    def free(self) -> FloatArray:
        """For each unknown, the share of it that no equation touches: 0 is determined, 1 is untouched."""
        share: FloatArray = 1.0 - (self.matrix**2).sum(axis=0)
        return np.clip(share, 0.0, 1.0)


def linear_equations(
    model: LinearModel,
    confidences: FloatArray,
    known: FloatArray,
    known_positions: IntArray,
    unknown_positions: IntArray,
    *,
    floor: float | None = None,
    deviation: float = 0.0,
    largest: FloatArray | float = 1.0,
    log_slack: FloatArray | None = None,
    at_bound: BoolArray | None = None,
) -> Iterator[Equations]:
    """The equations of each row with orthonormal rows; all else as in `score_equations`.

    ``log_slack`` (rows, classes): by how much a logarithm may be off for what is known to be on the confidences.
    """
    found = score_equations(
        model,
        confidences,
        known,
        known_positions,
        unknown_positions,
        floor=floor,
        deviation=deviation,
        largest=largest,
        at_bound=at_bound,
    )
    slack = np.zeros_like(confidences) if log_slack is None else np.minimum(log_slack, ANYTHING)
    for group in found:
        declared = slack[group.rows] @ np.abs(group.difference).T
        yield _orthonormal(group, rounding_errors(group, confidences) + declared)


def score_equations(
    model: LinearModel,
    confidences: FloatArray,
    known: FloatArray,
    known_positions: IntArray,
    unknown_positions: IntArray,
    *,
    floor: float | None = None,
    deviation: float = 0.0,
    largest: FloatArray | float = 1.0,
    at_bound: BoolArray | None = None,
) -> Iterator[ScoreEquations]:
    """The equations of each row, grouped by which classes have a logarithm.

    ``floor`` replaces confidences of 0; ``deviation`` is the standard deviation of the error of a confidence, where
    rounding or noise is known to be on them; ``largest`` is how large an unknown can be; ``at_bound`` marks confidences
    that are not seen but are at least nearly as large as given.
    """
    weights, bias = _as_classes(model)
    logs, usable = _logarithms(checked_confidences(confidences, model.n_classes), model.link, floor)
    offset = logs - known @ weights[:, known_positions].T - bias
    size = _log_size(logs, confidences, model.link) + np.abs(known) @ np.abs(weights[:, known_positions]).T
    size += np.abs(bias) + (np.abs(weights[:, unknown_positions]) * largest).sum(axis=1)
    variance = _log_variance(confidences, model.link, deviation, at_bound)
    patterns, membership = np.unique(usable, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(membership.ravel() == number)
        difference = _differences(pattern, model.link)
        yield ScoreEquations(
            rows,
            difference,
            difference @ weights[:, unknown_positions],
            np.where(usable[rows], offset[rows], 0.0) @ difference.T,
            np.einsum("ik,nk,jk->nij", difference, np.where(usable[rows], variance[rows], 0.0), difference),
            np.where(usable[rows], size[rows], 0.0) @ np.abs(difference).T,
            len(model.columns),
        )


def rounding_errors(equations: ScoreEquations, confidences: FloatArray) -> FloatArray:
    """(rows, equations): how far rounding errors alone can put an equation off, from the size of its terms."""
    return np.asarray(max(FLOAT_ERRORS, PER_TERM * equations.n_terms) * last_digit(confidences) * equations.size)


def last_digit(confidences: FloatArray) -> float:
    """Half a unit in the last place: of single precision where every confidence is a single-precision number."""
    single = bool(np.array_equal(confidences, confidences.astype(np.float32)))
    return float(np.finfo(np.float32 if single else np.float64).eps) / 2


def numerical_rank(singular: FloatArray) -> int:
    """Of singular values, the largest first."""
    return int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) and singular[0] > 0 else 0


def checked_confidences(confidences: FloatArray, n_classes: int) -> FloatArray:
    if confidences.ndim != 2 or confidences.shape[1] != n_classes:
        raise InputError(f"confidences must have one column for each of {n_classes} classes; got {confidences.shape}")
    if not np.isfinite(confidences).all() or (confidences < 0).any() or (confidences > 1).any():
        raise InputError("confidences must be numbers from 0 to 1; got others. Leave withheld rows out")
    return confidences


def _as_classes(model: LinearModel) -> tuple[FloatArray, FloatArray]:
    """A sigmoid is a softmax whose first class has score 0."""
    if model.link is not Link.SIGMOID:
        return model.weights, model.bias
    return np.vstack([np.zeros_like(model.weights), model.weights]), np.concatenate([[0.0], model.bias])


def _logarithms(confidences: FloatArray, link: Link, floor: float | None) -> tuple[FloatArray, np.ndarray]:
    values = confidences if floor is None else np.maximum(confidences, floor)
    if link is Link.SIGMOID_EACH:  # v = sigmoid(z) for each class, so z = ln v - ln(1 - v)
        usable = (values > 0) & (values < 1)
        safe = np.where(usable, values, 0.5)
        return np.log(safe) - np.log1p(-safe), usable
    usable = values > 0
    return np.log(np.where(usable, values, 1.0)), usable


def _log_size(logs: FloatArray, confidences: FloatArray, link: Link) -> FloatArray:
    """A confidence is good to a share of itself, so its logarithm to as much of 1, its logit of 1 / (1 - v)."""
    last_digit = 1.0 / np.maximum(1.0 - confidences, SMALLEST_NORMAL) if link is Link.SIGMOID_EACH else 1.0
    return np.asarray(np.abs(logs) + np.where(confidences < SMALLEST_NORMAL, 1.0 / SMALLEST_NORMAL, last_digit))


def _log_variance(
    confidences: FloatArray, link: Link, deviation: float, at_bound: BoolArray | None = None
) -> FloatArray:
    """Of ln v (or of logit v), to first order."""
    if deviation == 0:
        return np.zeros_like(confidences)
    v = np.maximum(confidences, deviation)
    slope = 1.0 / (v * np.maximum(1.0 - v, deviation)) if link is Link.SIGMOID_EACH else 1.0 / v
    variance = (deviation * slope) ** 2
    # So close to 0 a confidence only says that it is small: its logarithm may be anything below.
    unseen = is_unseen(confidences, deviation) if at_bound is None else is_unseen(confidences, deviation) & ~at_bound
    return np.where(unseen, ONE_SIDED**2, variance)


def is_unseen(confidences: FloatArray, deviation: float) -> BoolArray:
    """Confidences that rounding or noise leaves indistinguishable from 0."""
    return np.asarray(np.maximum(confidences, deviation) <= 2 * deviation)


def _differences(usable: np.ndarray, link: Link) -> FloatArray:
    """One row an equation: neighbouring usable classes subtracted (eq. 8)."""
    classes = np.flatnonzero(usable)
    identity = np.eye(len(usable))
    if link is Link.SIGMOID_EACH:
        return identity[classes]
    return identity[classes[:-1]] - identity[classes[1:]]


def _orthonormal(equations: ScoreEquations, off: FloatArray) -> Equations:
    """The same solutions; dependent equations drop out (the pseudo-inverse's own steps)."""
    left, singular, across = np.linalg.svd(equations.matrix, full_matrices=False)
    rank = numerical_rank(singular)
    change = left[:, :rank] / singular[:rank]
    error = np.einsum("ai,nab,bj->nij", change, equations.error, change)
    return Equations(equations.rows, across[:rank], equations.right @ change, error, off @ np.abs(change))
