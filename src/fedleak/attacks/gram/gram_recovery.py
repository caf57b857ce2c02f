"""Inner products of a passive party's rows from the trajectory of its scores (Li et al. 2021, eq. 3).

Scores and inner products are what theorem 3.6 of Hu et al. 2022 leaves in the open where it hides the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate, estimate_gram
from fedleak.attacks.residuals.joint_victim import joint_victim
from fedleak.attacks.residuals.outside_scores import predict_scores
from fedleak.attacks.residuals.own_side import OWN_PART
from fedleak.attacks.residuals.trajectory import read_trajectory
from fedleak.attacks.verdicts import NotIdentified, unsolved
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
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
        victim = joint_victim(view)
        why = f"{found.method}: the updates determine it, up to {found.gram_error:.1g} of its size"
        if not found.certain:
            why = f"{found.method}: other rows may explain the scores as well"
        return Guess(
            view.target,
            Status.RECOVERED if found.certain and not victim.divided else Status.PARTIAL,
            ids,
            victim.share * found.gram,
            evidence={
                "from": found.method,
                "rank": found.rank,
                "condition": found.condition,
                "expected relative error": found.gram_error,
            },
            why=f"{why}; {victim.how_divided}" if victim.divided else why,
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predict_scores(facts, GramTheorem.assess(facts), of_single_rows=False)


def gram_of(view: View, rng: np.random.Generator) -> tuple[IntArray, GramEstimate | NotIdentified]:
    """Row ids and the Gram matrix of all parties outside the coalition together, or why there is none.

    By a linear solve where there are epochs enough for one, else by a search.
    """
    none = np.zeros(0, dtype=np.int64)
    width = joint_victim(view).width
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
    ids, found = certain_gram_of(view, rng)
    if isinstance(found, NotIdentified):
        return unsolved(view, found, width=joint_victim(view).n_columns)
    return answer(view, ids, found, rng)
