"""Equality solving inside the box: the pseudo-inverse's answer projected onto the values that are possible.

The truth satisfies the equations and lies in the box. Both are convex, so the projection is at least as close to the
truth as the pseudo-inverse's answer, in every row.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.equality.box_projection import project_to_box
from fedleak.attacks.equality.solution import as_guess, solve, system
from fedleak.attacks.features.equality_solving import predicted
from fedleak.attacks.predictions import read_case
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Prediction, Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.inversion.equations import Equations


class EqualityProjection(Attack):
    name = "equality-projection"
    aliases = ("esa-box",)
    summary = "equality solving, projected onto the box of the known feature ranges"
    reference = Reference("fedleak", "from luo2021, section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        groups = system(case, floor=None, aware=True)
        worst = 0.0

        def answer(group: Equations) -> FloatArray:
            nonlocal worst
            least_norm = group.right @ group.matrix
            if not case.has_box:
                return least_norm
            projected = project_to_box(least_norm, group.matrix, group.right)
            worst = max(worst, float(projected.residual.max(initial=0.0)))
            return projected.points

        solved = solve(case, groups, answer, with_intervals=case.has_box)
        extra = {"box": "known" if case.has_box else "unknown", "largest gap between box and equations": worst}
        return as_guess(view, case, solved, extra, "the possible point nearest to the origin's solution is given")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted(facts)
