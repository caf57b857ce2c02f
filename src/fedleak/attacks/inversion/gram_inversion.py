"""A passive party's rows from their inner products, its stolen weights and known cells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate
from fedleak.attacks.gram.gram_recovery import WITH_LABELS, answer_by_gram
from fedleak.attacks.inversion.joint_knowledge import joint_cells, joint_weights
from fedleak.attacks.inversion.rotation_problem import Anchor, RotationProblem
from fedleak.attacks.inversion.rotation_solve import Inversion, column_errors, graded_guess, invert
from fedleak.attacks.residuals.joint_victim import JointVictim, joint_victim
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.inner_products import VerticalInversion

SAFETY = 10.0  # the expected cell error is a root mean square: single cells miss by more


class GramInversion(Attack):
    """With the prediction service it also uses the stolen weights, which fix one direction."""

    name = "gram-inversion"
    summary = "turns the recovered inner products onto the known cells: the victim's whole table"
    reference = Reference("li2021", "sections 4.1 to 4.4")
    requires = WITH_LABELS | {Capability.KNOWN_CELLS}
    preloads = ("scipy.linalg", "scipy.optimize", "fedleak.attacks.gram.gram_search")
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return answer_by_gram(view, rng, invert_gram)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(VerticalInversion.assess(facts))


class FakeFeatureInversion(GramInversion):
    """Section 4.1: random columns of the attacker's own make up for a batch that is larger than its real ones."""

    name = "gram-inversion-fake-features"
    summary = "the same with fake columns of the attacker's own, until a batch no longer hides the scores"
    reference = Reference("li2021", "section 4.1")
    deviation = "fake-features"

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(VerticalInversion.assess(facts, enough_columns=True))


def invert_gram(
    view: View, ids: IntArray, gram: GramEstimate, rng: np.random.Generator, victim: JointVictim | None = None
) -> Guess:
    """``victim``: whose rows the products are of; all parties outside the coalition unless it is told."""
    victim = victim or joint_victim(view)
    problem = rotation_problem(view, ids, gram, victim)
    found = invert(problem, rng=rng)
    expected = column_errors(problem, gram.others, found, rng)[victim.columns]
    mine = found.of_columns(victim.columns, problem.apart) if victim.several else found
    return graded_guess(view, ids, mine.candidates, mine, expected, _evidence(gram, problem, found))


def rotation_problem(
    view: View, ids: IntArray, gram: GramEstimate, victim: JointVictim | None = None
) -> RotationProblem:
    """The known cells and the stolen weights around the recovered factor."""
    victim = victim or joint_victim(view)
    weights = joint_weights(view, victim)
    anchor = None
    if weights is not None:
        # The paper approximates these scores by the last ones that were seen; the update rule gives them exactly.
        anchor = Anchor(weights, gram.end_scores)
    return RotationProblem.of(gram.factor, joint_cells(view.knowledge, victim, ids), anchor, SAFETY * gram.cell_error)


def _evidence(gram: GramEstimate, problem: RotationProblem, found: Inversion) -> Mapping[str, ScalarValue]:
    n_rows, width = gram.factor.shape
    return {
        "inner products from": gram.method,
        "rank": gram.rank,
        "expected error of the inner products": gram.gram_error,
        "known cells": len(problem.values),
        "known data ratio": len(problem.values) / (n_rows * width),
        "weights stolen": problem.anchor is not None,
        "real solutions": len(found.candidates),
        "real solutions before further known cells": found.n_without_extra,
        "nodes searched": found.n_nodes,
        "misfit of the known cells": found.misfit if np.isfinite(found.misfit) else None,
        "condition of the known cells": found.condition if np.isfinite(found.condition) else None,
    }
