"""Inner products of a passive party's rows from the trajectory of its scores (Li et al. 2021, eq. 3).

Scores and inner products are what theorem 3.6 of Hu et al. 2022 leaves in the open where it hides the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate, estimate_gram
from fedleak.attacks.residuals.outside_scores import mixed_scores, predict_scores
from fedleak.attacks.residuals.own_side import OWN_PART
from fedleak.attacks.residuals.trajectory import read_trajectory
from fedleak.attacks.verdicts import NotIdentified, unsolved
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.inner_products import GramRecovery as GramTheorem

WITH_LABELS = OWN_PART | {Capability.LABELS, Capability.LINEAR_RESIDUAL}


class GramRecovery(Attack):
    name = "gram-recovery"
    aliases = ("score-gram-recovery",)
    summary = "solves the movement of the victim's scores for the inner products of all its rows"
    reference = Reference("li2021", "section 4.1, eq. 3 (also hu2022, theorem 3.6)")
    requires = OWN_PART
    preloads = ("scipy.linalg", "fedleak.attacks.gram.gram_search")
    produces = SecretKind.GRAM

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, found = gram_of(view, rng)
        if isinstance(found, NotIdentified):
            return unsolved(view, found, width=len(ids))
        how_far = f"up to {found.gram_error:.1g} of its size"
        return Guess(
            view.target,
            Status.RECOVERED if found.certain else Status.PARTIAL,
            ids,
            found.gram,
            evidence={
                "from": found.method,
                "rank": found.rank,
                "condition": found.condition,
                "expected relative error": found.gram_error,
            },
            why=f"{found.method}: the updates determine it, {how_far}"
            if found.certain
            else f"{found.method}: other rows may explain the scores as well",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predict_scores(facts, GramTheorem.assess(facts), of_single_rows=False)


def gram_of(view: View, rng: np.random.Generator) -> tuple[IntArray, GramEstimate | NotIdentified]:
    """Row ids and the Gram matrix of the one party outside the coalition, or why there is none.

    By a linear solve where there are epochs enough for one, else by a search.
    """
    none = np.zeros(0, dtype=np.int64)
    mixed = mixed_scores(view.facts, view.coalition)
    if mixed:
        return none, NotIdentified(mixed, 0)
    width = victim_width(view)
    read = read_trajectory(view)
    if isinstance(read, NotIdentified):
        return none, read
    ids, trajectory = read
    found = estimate_gram(trajectory, width, rng)
    if isinstance(found, GramEstimate) or trajectory.repeats:  # a recurring batch is solved by its rank already
        return ids, found
    from fedleak.attacks.gram.gram_search import search_gram  # rarely come to

    searched = search_gram(trajectory, width, rng, noisy=bool(view.facts.outside_noise))
    if isinstance(searched, NotIdentified):
        searched = replace(searched, why=f"{found.why}; {searched.why}", rank=found.rank)
    return ids, searched


def certain_gram_of(view: View, rng: np.random.Generator) -> tuple[IntArray, GramEstimate | NotIdentified]:
    """The same for attacks that build on it: an answer beside which others stand is none."""
    ids, found = gram_of(view, rng)
    if isinstance(found, GramEstimate) and not found.certain:
        return ids, NotIdentified(f"other rows may explain the scores as well ({found.method})", found.rank, True)
    return ids, found


def answer_by_gram(
    view: View, rng: np.random.Generator, answer: Callable[[View, IntArray, GramEstimate, np.random.Generator], Guess]
) -> Guess:
    """What ``answer`` makes of the inner products; where they are not certain, why there is nothing to work with."""
    width = victim_width(view)
    ids, found = certain_gram_of(view, rng)
    if isinstance(found, NotIdentified):
        return unsolved(view, found, width=width)
    return answer(view, ids, found, rng)


def victim_width(view: View) -> int:
    width = view.facts.party(view.target.owner).n_features
    if width is None:
        raise MissingFromViewError(f"the number of columns of {view.target.owner} must be public; it is not known")
    return width
