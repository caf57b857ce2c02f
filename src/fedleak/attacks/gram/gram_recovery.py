"""Inner products of a passive party's rows from the trajectory of its scores (Li et al. 2021, eq. 3)."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.gram.estimate import GramEstimate, estimate_gram
from fedleak.attacks.gram.from_view import read_trajectory
from fedleak.attacks.gram.solution import NotIdentified
from fedleak.attacks.scores.score_recovery import ScoreRecovery, nothing
from fedleak.attacks.training.outsiders import mixed_scores
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Prediction, Reference
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.li2021.gram_recovery import GramRecovery as GramTheorem


class GramRecovery(Attack):
    name = "gram-recovery"
    summary = "solves the movement of the victim's scores for the inner products of all its rows"
    reference = Reference("li2021", "section 4.1, eq. 3")
    requires = ScoreRecovery.requires
    produces = SecretKind.GRAM

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, found = gram_of(view, rng)
        if isinstance(found, NotIdentified):
            return nothing(view, found.why, {"rank": found.rank}, width=len(ids))
        return Guess(
            view.target,
            Status.RECOVERED,
            ids,
            found.gram,
            evidence={
                "from": found.method,
                "rank": found.rank,
                "condition": found.condition,
                "expected relative error": found.gram_error,
            },
            why=f"the updates determine it, up to {found.gram_error:.1g} of its size",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(GramTheorem.assess(facts))


def gram_of(view: View, rng: np.random.Generator) -> tuple[IntArray, GramEstimate | NotIdentified]:
    """Row ids and the Gram matrix of the one party outside the coalition, or why there is none."""
    none = np.zeros(0, dtype=np.int64)
    mixed = mixed_scores(view.facts, view.coalition)
    if mixed:
        return none, NotIdentified(mixed, 0)
    width = victim_width(view)
    read = read_trajectory(view)
    if isinstance(read, NotIdentified):
        return none, read
    found = estimate_gram(read.trajectory, width, rng)
    return read.ids, found


def victim_width(view: View) -> int:
    width = view.facts.party(view.target.owner).n_features
    if width is None:
        raise MissingFromViewError(f"the number of columns of {view.target.owner} must be public; it is not known")
    return width
