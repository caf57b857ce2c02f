"""One pair of parties finds out whom both have: by points of a curve under two secrets, or by salted digests."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import InputError
from fedleak.core.payload import IntegerArray
from fedleak.crypto.blinded_points import PointSecret, packed, point_of, unpacked
from fedleak.protocols.actor import Actor
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.vocabulary import identifier_text

SALT_BYTES = 16


@dataclass(frozen=True, eq=False)
class Side:
    """A party in the alignment, with the people that it put in."""

    actor: Actor
    people: IntArray
    n_identifiers: int
    most: int  # that it takes from a partner; 0: any number

    def texts(self) -> list[bytes]:
        return [identifier_text(person, self.n_identifiers) for person in self.people.tolist()]

    def accept(self, sent: IntegerArray, sender: str) -> list[bytes]:
        found = unpacked(sent)
        if self.most and len(found) > self.most:
            raise InputError(
                f"{sender} must put in at most {self.most} identifiers (most_identifiers); it put in {len(found)}"
            )
        return found


@dataclass(frozen=True, eq=False)
class Matched:
    count: int
    people: IntArray | None  # None where only the number is known


def match_points(active: Side, partner: Side, *, shuffled: bool) -> Matched:
    """H(x)^a and H(y)^b are exchanged, and raised to the other's secret: equal people give equal points."""
    own, theirs = PointSecret(), PointSecret()
    active.actor.record(alignment.BLINDED, alignment.POINT_SECRET.of(partner.actor.name), own.payload())
    partner.actor.record(alignment.BLINDED, alignment.POINT_SECRET.of(active.actor.name), theirs.payload())
    first = _blinded(active, own, partner)
    second = _blinded(partner, theirs, active)
    twice = theirs.blind(first)
    if shuffled:
        twice = [twice[place] for place in partner.actor.rng.permutation(len(twice)).tolist()]
    returned = unpacked(partner.actor.send(alignment.TWICE_BLINDED, active.actor, packed(twice)))
    return _compared(active, returned, set(own.blind(second)), ordered=not shuffled)


def match_digests(active: Side, partner: Side) -> Matched:
    """Whoever has the digests and the salt can try every identifier that there is."""
    salt = secrets.token_bytes(SALT_BYTES)
    heard = unpacked(active.actor.send(alignment.SALT, partner.actor, packed([salt])))[0]
    digests = packed([digest_of(heard, text) for text in partner.texts()])
    sent = active.accept(partner.actor.send(alignment.DIGESTS, active.actor, digests), partner.actor.name)
    return _compared(active, [digest_of(salt, text) for text in active.texts()], set(sent), ordered=True)


def digest_of(salt: bytes, text: bytes) -> bytes:
    return sha256(salt + text).digest()


def _blinded(side: Side, secret: PointSecret, receiver: Side) -> list[bytes]:
    points = packed(secret.blind([point_of(text) for text in side.texts()]))
    return receiver.accept(side.actor.send(alignment.BLINDED, receiver.actor, points), side.actor.name)


def _compared(active: Side, own: Sequence[bytes], theirs: set[bytes], *, ordered: bool) -> Matched:
    hits = np.array([one in theirs for one in own], dtype=np.bool_)
    if not ordered:
        return Matched(int(hits.sum()), None)
    return Matched(int(hits.sum()), np.sort(active.people[hits]))
