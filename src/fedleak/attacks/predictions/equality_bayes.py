"""Equality solving with an empirical prior: what no equation says is filled in by what such columns look like.

Columns are taken as exchangeable: an unknown column's mean is drawn like the means of the adversary's own columns, its
rows spread like theirs. The mean of the equations over all rows then says more about the unknown means (a Gaussian
update). Nothing about the victim enters but what the predictions say. Each row's answer is the prior's mean moved onto
the row's equations, then projected onto the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fedleak.attacks.predictions.equality_projection import project_to_box
from fedleak.attacks.predictions.equality_solving import Solved, as_guess, linear_model, predicted, solve, system
from fedleak.attacks.predictions.prediction_case import PredictionCase, on_unit_interval, read_case
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.inversion.equations import Equations, is_unseen


class EqualityBayes(Attack):
    name = "equality-bayes"
    aliases = ("esa-bayes",)
    summary = "equality solving, with the open directions filled from an empirical prior and the box"
    reference = Reference("fedleak", "from luo2021, section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    preloads = ("scipy.linalg",)
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return filled_guess(view, read_case(view))

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted(facts)


def filled_guess(view: View, case: PredictionCase, closer: Callable[[FloatArray], FloatArray] | None = None) -> Guess:
    """``closer`` may put other values in the place of some rows'."""
    prior, solved = fill_from_prior(case)
    solved = solved if closer is None else replace(solved, values=closer(solved.values))
    extra = {"box": "known" if case.has_box else "unknown", "prior mean": float(prior.mean[0])}
    return as_guess(view, case, solved, extra, "open directions are filled from the adversary's own columns")


def fill_from_prior(case: PredictionCase) -> tuple[ColumnPrior, Solved]:
    prior = prior_of_columns(case.own, case.n_unknown)
    at_bound: BoolArray | None = None
    for _ in range(N_BOUND_PASSES):
        groups = system(case, floor=None, aware=True, at_bound=at_bound)
        solved = solve(case, groups, partial(_answer, case, prior), with_intervals=case.has_box)
        before, at_bound = at_bound, _above_bounds(case, solved.values, at_bound)
        if at_bound is None or (before is not None and np.array_equal(at_bound, before)):
            break
    return prior, solved


N_BOUND_PASSES = 4


def _above_bounds(case: PredictionCase, values: FloatArray, before: BoolArray | None) -> BoolArray | None:
    """Confidences that rounding or noise hid, and that an answer puts above what hides them: they are held there.

    That a confidence is not seen is an inequality on its score. It says nothing to an answer that satisfies it.
    """
    release = case.release
    if release.is_exact or not case.has_box:
        return None
    seen = release.centred(case.confidences)
    predicted = linear_model(case).confidences(case.inputs(values))
    above = is_unseen(seen, release.deviation) & (predicted > seen + release.reach)
    return above if before is None else above | before


def _answer(case: PredictionCase, prior: ColumnPrior, group: Equations) -> FloatArray:
    if not case.has_box:
        return group.right @ group.matrix
    precise = np.einsum("nii->n", group.error) <= group.rank * prior.variance
    learnt = learn_means(prior, group.matrix, group.right[precise], case.own.shape[1])
    cells = posterior_cells(learnt, group.matrix, group.right, group.error)
    if group.error.any():
        return np.clip(cells, 0.0, 1.0)  # the equations do not hold exactly: no point in projecting onto them
    return project_to_box(cells, group.matrix, group.right).points


# Without own columns: a column on the unit interval, centred, as spread as uniform values.
CENTRE, SPREAD_OF_MEANS, SPREAD_OF_ROWS = 0.5, 0.25, 1 / 12**0.5
LEAST_SPREAD = 0.02


@dataclass(frozen=True, eq=False)
class ColumnPrior:
    """Of the unknown columns on the unit interval: their means, and the variances of means and of rows."""

    mean: FloatArray  # (unknowns,)
    mean_variance: float
    row_variance: float

    @property
    def variance(self) -> float:
        """Of a cell: its column's mean is uncertain, and its row varies about it."""
        return self.mean_variance + self.row_variance


def prior_of_columns(own: FloatArray, n_unknown: int) -> ColumnPrior:
    """From the adversary's own columns, each on the unit interval."""
    unit = on_unit_interval(own)
    if unit.shape[1] < 2:
        return ColumnPrior(np.full(n_unknown, CENTRE), SPREAD_OF_MEANS**2, SPREAD_OF_ROWS**2)
    means = unit.mean(axis=0)
    return ColumnPrior(
        np.full(n_unknown, float(means.mean())),
        max(float(means.var()), LEAST_SPREAD**2),
        max(float(unit.var(axis=0).mean()), LEAST_SPREAD**2),
    )


def learn_means(prior: ColumnPrior, matrix: FloatArray, right: FloatArray, n_own: int) -> ColumnPrior:
    """Update the unknown means by the mean of ``matrix @ x = right`` over the rows.

    The grand mean is itself uncertain, by the variance of means over the number of own columns.
    """
    if not len(matrix) or not len(right):
        return prior
    width = len(prior.mean)
    covariance = prior.mean_variance * (np.eye(width) + 1.0 / max(n_own, 1))
    scatter = prior.row_variance / len(right) * (matrix @ matrix.T)
    gain = np.linalg.solve(matrix @ covariance @ matrix.T + scatter, matrix @ covariance)
    mean = prior.mean + (right.mean(axis=0) - matrix @ prior.mean) @ gain
    return ColumnPrior(np.clip(mean, 0.0, 1.0), prior.mean_variance, prior.row_variance)


def posterior_cells(prior: ColumnPrior, matrix: FloatArray, right: FloatArray, error: FloatArray) -> FloatArray:
    """The mean of each cell given the equations of its row, whose right side has the given error covariance."""
    if not len(matrix):
        return np.broadcast_to(prior.mean, (len(right), len(prior.mean))).copy()
    gap = right - prior.mean @ matrix.T
    if not error.any():
        return prior.mean + gap @ matrix  # orthonormal rows: the equations hold exactly
    weight = error / prior.variance + np.eye(len(matrix))
    solved = np.linalg.solve(weight, gap[:, :, None])[:, :, 0]
    result: FloatArray = prior.mean + solved @ matrix
    return result
