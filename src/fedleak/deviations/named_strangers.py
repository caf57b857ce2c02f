"""Identifiers of people that a party does not have, put into an alignment among its own.

Nothing in the protocol shows it but the size of the set: points of guessed identifiers look like any others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.payload import Scalar
from fedleak.core.whole.federation import setting
from fedleak.core.whole.hooks import Deviation, Hook, HookKind, LocalState
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.vocabulary import AlignmentFacts, person_of
from fedleak.theory.enumerable_identifiers import MOST_NAMED


@dataclass(frozen=True)
class ClaimedIdentifiers(Deviation):
    """As many as partners accept, its own people first, then identifiers from the lowest on."""

    name = "claimed-identifiers"
    summary = "puts guessed identifiers into an alignment, as many as partners accept"
    reference = Reference("fedleak", "docs/attacks/identifier-enumeration.md")
    acts_at = frozenset({alignment.IDENTIFIERS})

    guesses: int = setting(MOST_NAMED, "identifiers that are put in, its own among them", unit="identifiers")
    identifiers: int = 0  # that there could be; 0 where it is not known, and nothing is guessed then

    def informed(self, facts: Facts) -> ClaimedIdentifiers:
        own = facts.of(AlignmentFacts)
        most = min(self.guesses, own.most_identifiers or self.guesses)
        return replace(self, guesses=most, identifiers=own.identifiers or 0)

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        return (Hook(alignment.IDENTIFIERS, HookKind.INPUT, party, self._claim),)

    def _claim(self, people: IntArray, local: LocalState, rng: np.random.Generator) -> IntArray:
        own, room = set(people.tolist()), max(self.guesses - len(people), 0)
        reach = min(self.identifiers, room + len(own))  # so far at most, where all its own are among the lowest
        guessed = [person_of(number, self.identifiers) for number in range(reach)]
        added = [person for person in guessed if person not in own][:room]
        local.record(alignment.IDENTIFIERS, alignment.CLAIMED, Scalar(len(added)))
        return np.concatenate([people, np.array(added, dtype=np.int64)])
