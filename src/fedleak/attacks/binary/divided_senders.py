"""One party's updates out of a secure sum, from shares of its key and of its seed (Bonawitz et al. 2017, section 6.2).

A server that lies about who sent, and those who collude with it, get t shares of both: the mask comes off, and what is
left is the party's own update. Key and seed are checked against what the party announced, so an opened update is no
guess. Inner products of its columns follow as they do from a sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from fedleak.attacks.binary.column_products import ColumnProducts, products_guess
from fedleak.attacks.binary.observations import observations_of
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.errors import CryptoError, MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Payload, Tree
from fedleak.core.view import View
from fedleak.crypto.secret_sharing import SHARE_BYTES, Share
from fedleak.crypto.secure_aggregation import Announcement, Opened, Words, decoded_total, opened_secrets
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.theory.divided_lists import DividedLists

Shares = dict[int, dict[str, dict[int, Share]]]  # by round, by whose it is, by place


class DividedSenders(Attack):
    name = "divided-senders"
    summary = "lies about who sent, takes a party's mask off its updates, and solves them for its columns' products"
    reference = Reference("bonawitz2017", "section 6.2")
    requires = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS, Capability.OPENED_SHARES})
    preloads = (*ColumnProducts.preloads, "cryptography.hazmat.primitives.kdf.hkdf")
    produces = SecretKind.COLUMN_PRODUCTS
    deviation = "divided-senders"
    apart = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        updates = opened_updates(view, view.target.owner)
        if not updates:
            width = view.facts.party(view.target.owner).n_features or 1
            nothing = np.full((width, width + 1), np.nan)
            why = f"in no round are there shares enough of both key and seed of {view.target.owner}"
            return Guess(view.target, Status.UNDETERMINED, np.arange(width), nothing, why=why)
        return products_guess(view, observations_of(view, view.target.owner, updates), rng)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(DividedLists.assess(facts), if_fails=DividedLists.if_fails(facts))


def opened_updates(view: View, victim: str) -> dict[int, FloatArray]:
    """By round, what a party put under its mask, wherever the coalition can take that off."""
    threshold = view.facts.of(averaging.HorizontalLogisticFacts).recovery_threshold
    bits = view.facts.fraction_bits
    if not threshold or bits is None:
        raise MissingFromViewError("the view does not say how many shares open a secret, and at which precision")
    announced = _announced(view)
    keys, seeds = _shares(view)
    found = {}
    for message in view.at(averaging.MASKED_UPDATE):
        number = message.round
        if message.sender != victim or not isinstance(message.payload, Array):
            continue
        held = [list(kind.get(number, {}).get(victim, {}).values()) for kind in (keys, seeds)]
        if min(map(len, held)) >= threshold:
            opened = Opened(keys={victim: held[0]}, seeds={victim: held[1]})
            vector = np.asarray(message.payload.values, dtype=np.uint64)
            found[number] = _update(victim, vector, announced[number], opened, threshold, number, bits)
    return found


def _update(
    victim: str,
    vector: Words,
    announced: Mapping[str, Announcement],
    opened: Opened,
    threshold: int,
    number: int,
    fraction_bits: int,
) -> FloatArray:
    secrets = opened_secrets(victim, announced[victim], opened, threshold)
    return decoded_total(vector - secrets.mask(victim, announced, number, len(vector)), fraction_bits)


def _announced(view: View) -> dict[int, dict[str, Announcement]]:
    found: dict[int, dict[str, Announcement]] = {}
    for message in view.at(averaging.ROUND_KEY):
        if isinstance(message.payload, Tree):
            key, commitment = (_bytes(message.payload.items[name]) for name in ("key", "commitment"))
            found.setdefault(message.round, {})[message.sender] = Announcement(key, commitment)
    return found


def _shares(view: View) -> tuple[Shares, Shares]:
    """Of keys and of seeds: those that parties opened, and those that members of the coalition hold."""
    keys: Shares = {}
    seeds: Shares = {}
    for message in view.at(averaging.OPENED_SHARES):
        for kind, name in ((keys, "keys"), (seeds, "seeds")):
            for owner, data in _parts(message.payload, name):
                _add(kind, message.round, owner, data)
    for member in view.coalition:
        for record in view.records(averaging.HELD_SHARES, member):
            for owner, data in _parts(record.value):
                _add(keys, record.round, owner, data[:SHARE_BYTES])
                _add(seeds, record.round, owner, data[SHARE_BYTES:])
    return keys, seeds


def _add(shares: Shares, number: int, owner: str, data: bytes) -> None:
    share = Share.from_bytes(data)
    shares.setdefault(number, {}).setdefault(owner, {})[share.at] = share


def _parts(payload: Payload, name: str = "") -> Iterator[tuple[str, bytes]]:
    found = payload.items.get(name) if name and isinstance(payload, Tree) else payload
    if isinstance(found, Tree):
        yield from ((owner, _bytes(part)) for owner, part in found.items.items())


def _bytes(payload: Payload) -> bytes:
    if not isinstance(payload, Array):
        raise CryptoError(f"a key or a share must be bytes; got {type(payload).__name__}")
    return payload.values.tobytes()
