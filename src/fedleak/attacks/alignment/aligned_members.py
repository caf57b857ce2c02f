"""Whom a partner has, read off the output of an alignment: of those that one has, or of whoever one names.

The active party compares every pair by itself: of each person that it put in it knows whether the partner has it. A
passive party is told whom all have; somebody who is not among them and whom all others put in is not the partner's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Tree
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.view import View
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.vocabulary import AlignmentFacts
from fedleak.theory.condition import State
from fedleak.theory.enumerable_identifiers import AlignedPeople, NamedPeople

COMPARED = "identifiers are equal where their points under both secrets, or their digests, are, and nowhere else"


@dataclass(frozen=True, eq=False)
class Told:
    """People whom the partner has and people whom it has not; of all others nothing is said."""

    has: IntArray
    lacks: IntArray
    by_oneself: bool  # compared, not heard


def told_of(view: View) -> Told:
    active = view.facts.with_role(Role.ACTIVE)[0].name
    if active in view.coalition:
        people, matched = _put_in(view, active), _matched_with(view, view.target.owner)
        return Told(matched, np.setdiff1d(people, matched), by_oneself=True)
    common = _heard(view)
    others = [p.name for p in view.facts.parties if p.role in DATA_ROLES and p.name != view.target.owner]
    if not set(others) <= set(view.coalition):
        return Told(common, np.zeros(0, dtype=np.int64), by_oneself=False)
    shared = reduce(np.intersect1d, [_put_in(view, name) for name in others])
    return Told(common, np.setdiff1d(shared, common), by_oneself=False)


def _put_in(view: View, party: str) -> IntArray:
    return np.asarray(view.array(alignment.PUT_IN, party).values, dtype=np.int64)


def _matched_with(view: View, partner: str) -> IntArray:
    found = view.record(alignment.MATCHED_ROWS)
    rows = found.items.get(partner) if isinstance(found, Tree) else None
    if not isinstance(rows, Array):
        raise MissingFromViewError(f"the view must hold whom {partner} has too; it does not")
    return np.asarray(rows.values, dtype=np.int64)


def _heard(view: View) -> IntArray:
    heard = [message.payload for message in view.at(alignment.COMMON_ROWS)]
    if not heard or not isinstance(heard[-1], Array):
        raise MissingFromViewError("the view must hold whom all parties have; nobody told")
    return np.asarray(heard[-1].values, dtype=np.int64)


def members(view: View, told: Told, *, whole: bool, why: str, certificate: str) -> Guess:
    """1 for those that the partner has, 0 for those that it has not."""
    ids = np.concatenate([told.has, told.lacks])
    if not len(ids):
        return nothing(view, "of nobody is anything told", {}, width=1, status=Status.UNDETERMINED)
    values = np.concatenate([np.ones(len(told.has)), np.zeros(len(told.lacks))])
    evidence = {"people that it has": len(told.has), "people that it has not": len(told.lacks)}
    return Guess(
        view.target,
        Status.RECOVERED if whole else Status.PARTIAL,
        ids,
        values[:, None],
        confidence=np.ones((len(ids), 1)),
        evidence=evidence,
        why=why,
        certificate=certificate,
    )


class AlignedMembers(Attack):
    name = "aligned-members"
    summary = "reads off an alignment which of one's own people a partner has too"
    reference = Reference("fedleak", "docs/attacks/aligned-members.md")
    requires = frozenset({Capability.ALIGNED_ROWS})
    produces = SecretKind.MEMBERS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        told = told_of(view)
        return members(
            view,
            told,
            whole=False,
            why="what the alignment is for: of one's own people it says whom the partner has too",
            certificate=COMPARED if told.by_oneself else "",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(AlignedPeople.assess(facts), if_fails=AlignedPeople.if_fails(facts))


class IdentifierEnumeration(Attack):
    name = "identifier-enumeration"
    summary = "puts guessed identifiers into an alignment and reads off whom a partner has"
    reference = Reference("fedleak", "docs/attacks/identifier-enumeration.md")
    requires = frozenset({Capability.ALIGNED_ROWS})
    produces = SecretKind.MEMBERS
    deviation = "claimed-identifiers"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        told = told_of(view)
        n_asked, n_there_are = len(told.has) + len(told.lacks), view.facts.of(AlignmentFacts).identifiers
        return members(
            view,
            told,
            whole=n_asked == n_there_are,
            why=f"{n_asked:,} identifiers were put in of {n_there_are or 0:,} that there could be",
            certificate=COMPARED if told.by_oneself else "",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        found = NamedPeople.assess(facts)
        given = found.conditions[0].state is State.HOLDS
        return from_assessment(found, if_fails=Verdict.PARTIAL if given else Verdict.IMPOSSIBLE)
