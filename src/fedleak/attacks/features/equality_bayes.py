"""Equality solving with an empirical prior: what no equation says is filled in by what such columns look like.

The prior of an unknown column comes from the adversary's own columns and is updated by all predictions together
(column_prior). Each row's answer is the prior's mean moved onto the row's equations, then projected onto the box.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fedleak.attacks.equality.box_projection import project_to_box
from fedleak.attacks.equality.column_prior import ColumnPrior, learn_means, posterior_cells, prior_of_columns
from fedleak.attacks.equality.solution import Solved, as_guess, solve, system
from fedleak.attacks.features.equality_solving import predicted
from fedleak.attacks.predictions import PredictionCase, read_case
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Prediction, Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.inversion.equations import Equations


class EqualityBayes(Attack):
    name = "equality-bayes"
    aliases = ("esa-bayes",)
    summary = "equality solving, with the open directions filled from an empirical prior and the box"
    reference = Reference("fedleak", "from luo2021, section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        prior, solved = fill_from_prior(case)
        extra = {"box": "known" if case.has_box else "unknown", "prior mean": float(prior.mean[0])}
        return as_guess(view, case, solved, extra, "open directions are filled from the adversary's own columns")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted(facts)


def fill_from_prior(case: PredictionCase) -> tuple[ColumnPrior, Solved]:
    prior = prior_of_columns(case.own, case.n_unknown)
    groups = system(case, floor=None, aware=True)
    return prior, solve(case, groups, partial(_answer, case, prior), with_intervals=case.has_box)


def _answer(case: PredictionCase, prior: ColumnPrior, group: Equations) -> FloatArray:
    if not case.has_box:
        return group.right @ group.matrix
    precise = np.einsum("nii->n", group.error) <= group.rank * prior.variance
    learnt = learn_means(prior, group.matrix, group.right[precise], case.own.shape[1])
    cells = posterior_cells(learnt, group.matrix, group.right, group.error)
    if group.error.any():
        return np.clip(cells, 0.0, 1.0)  # the equations do not hold exactly: no point in projecting onto them
    return project_to_box(cells, group.matrix, group.right).points
