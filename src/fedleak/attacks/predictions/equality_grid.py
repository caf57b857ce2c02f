"""Equality solving for columns that take whole multiples of a known step: years, codes, counts, cents.

One equation of real numbers fixes many such columns at once, as long as the grid has fewer points than the confidence
has digits: the closest point of a lattice is the row. Continuous unknowns are first eliminated, one equation each, and
follow from the rest. Where the grid is too fine, the answer is that of equality-bayes.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.equality_bayes import fill_from_prior
from fedleak.attacks.predictions.equality_solving import linear_model, predicted, tolerances
from fedleak.attacks.predictions.grid_answer import GridAnswer, known_grid
from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.inversion.equations import ScoreEquations, score_equations
from fedleak.models.inversion.grid_solution import solve_on_grid
from fedleak.models.inversion.whole_equations import whole_equations


class EqualityGrid(Attack):
    name = "equality-grid"
    aliases = ("esa-grid",)
    summary = "equality solving for columns of known step: whole numbers that fit the equations, by lattice reduction"
    reference = Reference("fedleak", "from luo2021, section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    preloads = ("flint", "scipy.linalg")
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        case.require_box()
        grid = known_grid(case, view.knowledge)
        if not grid.stepped.any():
            raise MissingFromViewError("it needs columns of known step; declare kinds as knowledge")
        prior, before = fill_from_prior(case)
        assert before.intervals is not None
        answer, expected = GridAnswer(case, grid, before.values, before.intervals), 0.0
        for equations in _equations(case):
            allowed = tolerances(case, equations)
            for whole in whole_equations(equations, allowed, grid):
                answer.take(solve_on_grid(whole, prior.mean[grid.stepped]), equations, allowed)
                expected = max(expected, whole.expected_solutions)
        status, why = answer.conclusion
        evidence = {**answer.evidence, "fits of a row expected by chance, at most": expected}
        return case.guess(view, status, answer.values, why=why, evidence=evidence, intervals=answer.intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        without_steps = predicted(facts)
        if without_steps.verdict is not Verdict.PARTIAL:
            return without_steps
        reason = "exact for a grid with fewer points than the confidences have digits, which depends on the columns"
        return Prediction(Verdict.UNKNOWN, (*without_steps.reasons, reason))


def _equations(case: PredictionCase) -> list[ScoreEquations]:
    found = score_equations(
        linear_model(case),
        case.release.centred(case.confidences),
        case.own,
        case.own_positions,
        case.unknown_positions,
        largest=case.largest,
    )
    return list(found)
