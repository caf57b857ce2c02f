"""What the label holder of a split network learns of its partners' rows where their networks are one linear layer."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate, graded
from fedleak.attacks.inversion.gram_inversion import invert_gram
from fedleak.attacks.networks.embedding_course import read_course
from fedleak.attacks.residuals.joint_victim import JointVictim
from fedleak.attacks.verdicts import NotIdentified, from_assessment, unsolved
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.condition import State
from fedleak.theory.embedding_steps import EmbeddingSteps

REQUIRES = frozenset({Capability.EMBEDDINGS, Capability.LABELS, Capability.BATCH_IDS})


class EmbeddingGram(Attack):
    name = "embedding-gram"
    summary = "solves the movement of a partner's embeddings for the inner products of all its rows"
    reference = Reference("fedleak", "docs/attacks/embedding-gram.md")
    requires = REQUIRES
    produces = SecretKind.GRAM
    apart = True  # each partner sends its own embeddings
    preloads = ("scipy.linalg",)

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, found = _gram_of(view, rng)
        if isinstance(found, NotIdentified):
            return unsolved(view, found, width=len(ids))
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
            why=f"{found.method}: they determine it, up to {found.gram_error:.1g} of its size",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(EmbeddingSteps.assess(facts), if_fails=Verdict.UNKNOWN)


class EmbeddingGramInversion(Attack):
    name = "embedding-gram-inversion"
    summary = "turns the inner products behind a partner's embeddings onto known cells: its whole table"
    reference = Reference("fedleak", "docs/attacks/embedding-gram-inversion.md")
    requires = REQUIRES | {Capability.KNOWN_CELLS}
    produces = SecretKind.FEATURES
    preloads = ("scipy.linalg", "scipy.optimize")

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        victim = _victim(view)
        ids, found = _gram_of(view, rng)
        if isinstance(found, NotIdentified):
            return unsolved(view, found, width=victim.n_columns)
        return invert_gram(view, ids, found, rng, victim)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = EmbeddingSteps.assess(facts)
        if assessment.state is State.HOLDS:
            why = "the inner products are determined; whether the known cells leave one table shows only in the run"
            return Prediction(Verdict.UNKNOWN, (why, *assessment.reasons))
        return from_assessment(assessment, if_fails=Verdict.UNKNOWN)


def _victim(view: View) -> JointVictim:
    """One partner alone: what others send is seen apart."""
    found = JointVictim((view.facts.party(view.target.owner),), view.target.owner)
    if found.parties[0].n_features is None:
        raise MissingFromViewError(f"the number of columns of {view.target.owner} must be public; it is not known")
    return found


def _gram_of(view: View, rng: np.random.Generator) -> tuple[IntArray, GramEstimate | NotIdentified]:
    course, width = read_course(view, view.target.owner), _victim(view).width
    if isinstance(course, NotIdentified):
        return np.zeros(0, dtype=np.int64), course
    return course.ids, graded(course.gram(width), lambda: course.disturbed(rng).gram(width))
