"""Whom each party has before the alignment, what it records of them, and the truth about it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import BoolArray, IntArray
from fedleak.core.payload import Array, Table
from fedleak.core.steps import FEATURES, LABELS, OWN_DATA
from fedleak.core.whole.federation import Party
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.protocols.actor import Actor
from fedleak.protocols.alignment import vocabulary as alignment

KEY_BYTES = 16


def held_by(party: Party, actor: Actor, share: float) -> BoolArray:
    """A mask over the table's rows: those of which the party has any value, and of these a share.

    Which, each party draws for itself, person by person, from a key and what it has of the person.
    """
    features = party.train.features
    present = ~np.isnan(features).all(axis=1) if features.shape[1] else np.ones(len(features), dtype=np.bool_)
    key = actor.rng.bytes(KEY_BYTES)
    if share >= 1:
        return np.asarray(present)
    limit = int(share * 2**64)
    drawn = [
        int.from_bytes(hmac.digest(key, int(person).to_bytes(8, "big") + row.tobytes(), "sha256")[:8], "big") < limit
        for person, row in zip(party.train.ids, np.ascontiguousarray(features), strict=True)
    ]
    return np.asarray(present & np.array(drawn, dtype=np.bool_))


def put_in(party: Party, actor: Actor, held: BoolArray) -> IntArray:
    """The party's rows enter, then their identifiers; in an order of the party's own."""
    rows = actor.take_in(OWN_DATA, party.train.features[held])
    ids = party.train.ids[held]
    actor.record(OWN_DATA, FEATURES, Table(party.columns, ids, rows))
    if party.train.labels is not None:
        actor.record(OWN_DATA, LABELS, Table(("label",), ids, party.train.labels[held][:, None]))
    people = actor.take_in(alignment.IDENTIFIERS, np.asarray(ids, dtype=np.int64))
    people = actor.rng.permutation(people)
    actor.record(alignment.IDENTIFIERS, alignment.PUT_IN, Array(people))
    return people


def truth_of(parties: Sequence[Party], held: Mapping[str, BoolArray]) -> Truth:
    secrets = {}
    for party in parties:
        values = held[party.name].astype(np.float64)[:, None]
        known = SecretValues(party.train.ids, ("member",), values, np.array([[0.0, 1.0]]))
        secrets[Secret(SecretKind.MEMBERS, party.name)] = known
    return Truth(secrets)
