"""A network inverted for all rows together: own columns predict the unknown ones, predictions correct both.

Unknown columns follow a linear regression on own columns, x_i = M u_i + e_i, with M common to all rows. Before any
prediction is looked at, M and the spread of e are those of the adversary's own columns regressed on one another:
columns are taken as exchangeable. The network is linearised at the rows' current means, A_i x_i = b_i. All rows
together update M: they differ in A_i where the model is not linear, so together they tell columns apart that no row
does. Each row then updates its own e_i, and the spread of e is learnt as well (expectation-maximisation). What
linearisation misses is measured on draws from the current posterior and counts as noise, so that nothing is believed
more than the network's bends allow. At last each row goes onto its own prediction (network_rows).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.equality_bayes import prior_of_columns
from fedleak.attacks.predictions.network_rows import ScoreDifferences, onto_predictions
from fedleak.attacks.predictions.prediction_case import PredictionCase, on_unit_interval
from fedleak.core.arrays import FloatArray

N_ITERATIONS = 8
N_FIXED_SPREAD = 3  # iterations before the spread of the rows is learnt
STEP = 0.5  # of the way to the newly learnt M: a whole step overshoots where the network bends
PRIOR_ROWS = 20  # how many rows the prior's spread counts for, beside one an unknown
LEAST_ERROR = 1e-6  # of a linearised score, relative to its spread
N_STEPS, N_STEPS_DETERMINED = 6, 20  # of each row at the end; more where its equations may have one solution


@dataclass(frozen=True, eq=False)
class Inverted:
    values: FloatArray  # (rows, unknowns)
    spread: FloatArray  # covariance of a row's unknowns about the regression
    bend: float  # variance of score differences that the linearisation misses, over what it explains


def invert_scores(
    case: PredictionCase, scores: ScoreDifferences, wanted: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> Inverted:
    """``wanted`` are the score differences that the confidences stand for and the covariances of their errors."""
    return _Inversion(case, scores, wanted, rng).answer()


@dataclass(frozen=True, eq=False)
class _Update:
    """The rows' linear systems ``matrix @ x = right`` and what they make of a prior about any centres."""

    matrix: FloatArray  # (rows, equations, unknowns)
    right: FloatArray  # (rows, equations)
    deviation: FloatArray  # of the right side's errors
    inverse: FloatArray  # of the covariance of the right side given the centres
    gain: FloatArray  # (rows, unknowns, equations)

    def of(self, centres: FloatArray, noise: FloatArray | float = 0.0) -> FloatArray:
        gap = self.right + noise * self.deviation - np.einsum("nkd,nd->nk", self.matrix, centres)
        return np.asarray(centres + np.einsum("ndk,nk->nd", self.gain, gap))


class _Inversion:
    def __init__(
        self,
        case: PredictionCase,
        scores: ScoreDifferences,
        wanted: tuple[FloatArray, FloatArray],
        rng: np.random.Generator,
    ) -> None:
        self._case, self._scores, self._rng = case, scores, rng
        self._prior = regression_prior(case.own, case.n_unknown)
        self._wanted, self._variance = wanted
        self._spread = self._prior.row_variance * np.eye(case.n_unknown)
        # Rows share what the regression and the linearisation get wrong, in all directions but those that a row's own
        # equations fix: the fewer they are, the less each row counts for M.
        self._tempering = min(1.0, self._wanted.shape[1] / case.n_unknown)

    def answer(self) -> Inverted:
        prior = self._prior
        coefficients, error, measured = prior.mean, 0.0, 0.0
        values = np.clip(prior.centres(coefficients), 0.0, 1.0)
        drawn = self._drawn(Learnt(prior.mean, np.diag(1.0 / prior.variance.ravel())), None)
        for number in range(N_ITERATIONS):
            at, matrix = self._linearised(values)
            measured = self._measured_error(at, matrix, values, drawn)
            error = measured if number == 0 else (error * measured) ** 0.5
            update = self._update(at, matrix, values, error)
            learnt = learn(prior, matrix, update.right, update.inverse, self._tempering)
            coefficients = coefficients + (STEP if number else 1.0) * (learnt.coefficients - coefficients)
            centres = prior.centres(coefficients)
            drawn = self._drawn(Learnt(coefficients, learnt.precision), update)
            found = update.of(centres)
            if number >= N_FIXED_SPREAD:
                self._learn_spread(found - centres, update)
            values = np.clip(found, 0.0, 1.0)
        n_steps = N_STEPS_DETERMINED if self._tempering == 1 else N_STEPS
        wanted = self._wanted, self._variance
        values = onto_predictions(self._case, self._scores, wanted, self._spread, values, n_steps)
        return Inverted(values, self._spread, measured)

    def _linearised(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._scores.slopes(self._case.inputs(values), self._case.unknown_positions)

    def _scale(self, matrix: FloatArray) -> FloatArray:
        """Mean variance of a row's score differences, from the spread of its unknowns."""
        return np.asarray(np.einsum("nkd,nkd->n", matrix @ self._spread, matrix) / matrix.shape[1] + 1e-12)

    def _measured_error(self, at: FloatArray, matrix: FloatArray, values: FloatArray, drawn: FloatArray) -> float:
        line = at + np.einsum("nkd,nd->nk", matrix, drawn - values)
        missed = self._scores.at(self._case.inputs(drawn)) - line
        relative = (missed**2).mean(axis=1) / self._scale(matrix)
        return max(float(relative.mean()), LEAST_ERROR)

    def _update(self, at: FloatArray, matrix: FloatArray, values: FloatArray, error: float) -> _Update:
        right = self._wanted - at + np.einsum("nkd,nd->nk", matrix, values)
        noise = self._variance + (error * self._scale(matrix))[:, None, None] * np.eye(matrix.shape[1])
        across = matrix @ self._spread
        inverse = np.asarray(np.linalg.inv(across @ matrix.swapaxes(1, 2) + noise), dtype=np.float64)
        deviation = np.sqrt(np.einsum("nkk->nk", noise))
        return _Update(matrix, right, deviation, inverse, across.swapaxes(1, 2) @ inverse)

    def _drawn(self, learnt: Learnt, update: _Update | None) -> FloatArray:
        """A draw of every row: of M, of the row about it, and then given the row's own equations."""
        triangle = np.linalg.cholesky(self._spread)
        centres = self._prior.centres(learnt.draw(self._rng))
        rows = centres + self._rng.standard_normal(centres.shape) @ triangle.T
        if update is not None:
            rows = update.of(rows, self._rng.standard_normal(update.right.shape))
        return np.clip(rows, 0.0, 1.0)

    def _learn_spread(self, deviations: FloatArray, update: _Update) -> None:
        n_rows, width = deviations.shape
        told = np.tensordot(update.gain, update.matrix, axes=((0, 2), (0, 1))) @ self._spread
        left = self._spread - told / n_rows
        seen = deviations.T @ deviations / n_rows + left
        weight = PRIOR_ROWS + width + 2
        before = weight * self._prior.row_variance * np.eye(width)
        self._spread = (n_rows * seen + before) / (n_rows + weight)


RIDGE = 0.01  # a row, on the slopes of own columns: keeps nearly dependent ones apart


@dataclass(frozen=True, eq=False)
class ColumnRegression:
    """The prior of M, a Gaussian with independent entries, and of the rows' deviations e."""

    basis: FloatArray  # u, (rows, terms): one, then own columns standardised
    mean: FloatArray  # (unknowns, terms)
    variance: FloatArray  # (unknowns, terms)
    row_variance: float

    def centres(self, coefficients: FloatArray) -> FloatArray:
        return np.asarray(self.basis @ coefficients.T)


@dataclass(frozen=True, eq=False)
class Learnt:
    coefficients: FloatArray  # M, (unknowns, terms)
    precision: FloatArray  # of its entries, row by row

    def draw(self, rng: np.random.Generator) -> FloatArray:
        triangle = np.linalg.cholesky(self.precision)
        drawn = np.linalg.solve(triangle.T, rng.standard_normal(len(triangle)))
        return np.asarray(self.coefficients + drawn.reshape(self.coefficients.shape))


def regression_prior(own: FloatArray, n_unknown: int) -> ColumnRegression:
    means = prior_of_columns(own, n_unknown)
    spans = np.ptp(own, axis=0) if own.size else np.empty(0)
    varying = own[:, spans > 0]
    basis = np.column_stack([np.ones(len(own)), _standardised(varying)])
    slope_variance, row_variance = (
        _among_own(on_unit_interval(own)) if varying.shape[1] > 1 else (0.0, means.row_variance)
    )
    mean, variance = np.zeros((n_unknown, basis.shape[1])), np.full((n_unknown, basis.shape[1]), slope_variance)
    mean[:, 0], variance[:, 0] = means.mean, means.mean_variance
    return ColumnRegression(basis, mean, np.maximum(variance, 1e-9), max(row_variance, 1e-4))


def learn(
    prior: ColumnRegression, matrix: FloatArray, right: FloatArray, inverse: FloatArray, tempering: float
) -> Learnt:
    """M given ``matrix[i] @ x_i = right[i]``, where ``inverse`` inverts the covariance of each right side given M.

    ``tempering`` below 1 counts each row for less than one: errors of linearisation are alike across rows.
    """
    n_rows, n_terms = prior.basis.shape
    width = matrix.shape[2]
    back = matrix.swapaxes(1, 2) @ inverse  # (rows, unknowns, equations)
    squares = (prior.basis[:, :, None] * prior.basis[:, None, :]).reshape(n_rows, -1)
    # The precision is the sum over rows of (A' C^-1 A) kron (u u'): one product of two thin matrices.
    blocks = (back @ matrix).reshape(n_rows, -1).T @ squares
    precision = tempering * blocks.reshape(width, width, n_terms, n_terms).swapaxes(1, 2).reshape(width * n_terms, -1)
    precision += np.diag(1.0 / prior.variance.ravel())
    gap = right - np.einsum("nkd,nd->nk", matrix, prior.centres(prior.mean))
    pull = tempering * np.einsum("ndk,nk->nd", back, gap).T @ prior.basis
    step = np.linalg.solve(precision, pull.ravel()).reshape(width, n_terms)
    return Learnt(prior.mean + step, precision)


def _among_own(unit: FloatArray) -> tuple[float, float]:
    """Mean square of a slope and of a residual where each own column is regressed on the others."""
    slopes, residuals = [], []
    for position in range(unit.shape[1]):
        others = _standardised(np.delete(unit, position, axis=1))
        centred = unit[:, position] - unit[:, position].mean()
        gram = others.T @ others + RIDGE * len(unit) * np.eye(others.shape[1])
        slope = np.linalg.solve(gram, others.T @ centred)
        slopes.append(float((slope**2).mean()))
        residuals.append(float(((centred - others @ slope) ** 2).mean()))
    return float(np.mean(slopes)), float(np.mean(residuals))


def _standardised(columns: FloatArray) -> FloatArray:
    return np.asarray((columns - columns.mean(axis=0)) / columns.std(axis=0))
