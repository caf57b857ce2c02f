"""Equality solving by the pseudo-inverse (Luo et al. 2021, section IV-A): the paper's own attack, unclipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.equality.solution import as_guess, solve, system
from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.predictions import read_case
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.luo2021.exact_equations import ExactEquations

ZERO_FLOOR = 1e-9


@dataclass(frozen=True)
class EqualitySolving(Attack):
    """``zero_floor`` stands for a confidence of 0 where confidences were rounded; exact zeros give no equation."""

    name = "equality-solving"
    aliases = ("esa",)
    summary = "solves the linear equations that a logistic regression's confidences are; minimum norm where open"
    reference = Reference("luo2021", "section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES

    zero_floor: float = ZERO_FLOOR

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        floor = None if case.release.is_exact else self.zero_floor
        groups = system(case, floor=floor, aware=False)
        # x = Theta^+ a; with orthonormal rows the pseudo-inverse is the transpose.
        solved = solve(case, groups, lambda group: group.right @ group.matrix, with_intervals=False)
        extra = {} if floor is None else {"floor under confidences of 0": floor}
        return as_guess(view, case, solved, extra, "the solution of least norm is given")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted(facts)


def predicted(facts: Facts) -> Prediction:
    """Exact where the theorem holds; some information wherever a linear model is revealed."""
    if facts.options.get("model") not in (None, "logistic"):
        return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {facts.options['model']}, not linear",))
    return from_assessment(ExactEquations.assess(facts), if_fails=Verdict.PARTIAL)
