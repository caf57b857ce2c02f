"""Whom a partner has, from salted digests of its identifiers: hash every identifier that there could be, and look."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from fedleak.attacks.alignment.aligned_members import Told, members
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import IntegerArray
from fedleak.core.view import View
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.vocabulary import AlignmentFacts, identifier_text, person_of
from fedleak.theory.condition import State
from fedleak.theory.enumerable_identifiers import MOST_HASHED, HashedPeople


@dataclass(frozen=True)
class DigestEnumeration(Attack):
    """``guesses``: identifiers that are hashed, the lowest first."""

    name = "digest-enumeration"
    summary = "hashes every identifier that there could be and finds those whose digests a partner sent"
    reference = Reference("fedleak", "docs/attacks/digest-enumeration.md")
    requires = frozenset({Capability.IDENTIFIER_DIGESTS})
    produces = SecretKind.MEMBERS

    guesses: int = MOST_HASHED

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        n_identifiers = view.facts.of(AlignmentFacts).identifiers
        sent = [m.payload for m in view.at(alignment.DIGESTS) if m.sender == view.target.owner]
        salts = [m.payload for m in view.at(alignment.SALT) if m.receiver == view.target.owner]
        digests, salt = (found[-1] if found else None for found in (sent, salts))
        if n_identifiers is None or not isinstance(digests, IntegerArray) or not isinstance(salt, IntegerArray):
            raise MissingFromViewError("digests, their salt and the number of identifiers must be known; one is not")
        wanted, prefix = {row.tobytes() for row in digests.data}, salt.data[0].tobytes()
        asked = [person_of(number, n_identifiers) for number in range(min(n_identifiers, self.guesses))]
        hit = [sha256(prefix + identifier_text(one, n_identifiers)).digest() in wanted for one in asked]
        people, found = np.array(asked, dtype=np.int64), np.array(hit, dtype=np.bool_)
        return members(
            view,
            Told(people[found], people[~found], by_oneself=True),
            whole=len(asked) == n_identifiers,
            why=f"{len(asked):,} identifiers were hashed of {n_identifiers:,} that there could be",
            certificate="the digest of the identifier is among those sent, or is not",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        found = HashedPeople.assess(facts)
        given = found.conditions[0].state is State.HOLDS
        return from_assessment(found, if_fails=Verdict.PARTIAL if given else Verdict.IMPOSSIBLE)
