"""A party's side of secure aggregation: masks that cancel in the sum, and what happens when somebody drops out.

``Masker`` has a key, a secret with each partner and masks from those secrets; all must send. ``RecoveringMasker`` runs
a round that survives dropouts (Bonawitz et al. 2017, figure 4): announce keys, deal sealed shares, send masked
updates, hear who sent, open shares: seeds of those who sent, keys of those who did not. A party opens the shares of a
round once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import InputError, ProtocolError
from fedleak.core.payload import Array, IntegerArray, Payload, Scalar, Tree
from fedleak.crypto import fixed_point, secret_sharing
from fedleak.crypto.secret_sharing import SHARE_BYTES, Share
from fedleak.crypto.secure_aggregation import (
    KEY_BYTES,
    Announcement,
    MaskingKey,
    Opened,
    RoundSecrets,
    Words,
    decoded_total,
    mask_of,
    masked,
    unmasked_total,
)
from fedleak.protocols.actor import Actor
from fedleak.protocols.averaging import vocabulary as averaging


class Masker:
    """``fraction_bits`` is the precision at which vectors are sent; without ``active`` the mask is zero."""

    def __init__(self, actor: Actor, fraction_bits: int, *, active: bool = True) -> None:
        self._actor = actor
        self._fraction_bits = fraction_bits
        self._active = active
        self._key = MaskingKey()
        self._pair_secrets: dict[str, bytes] = {}

    def publish_key(self) -> None:
        self._actor.publish(averaging.AGREEMENT_KEY, IntegerArray.from_ints([self._key.public], KEY_BYTES))

    def agree_with(self, other: Masker) -> None:
        self._pair_secrets[other._actor.name] = self._key.shared_with(other._key.public)

    @property
    def channels(self) -> Mapping[str, bytes]:
        """A secret with each partner."""
        return self._pair_secrets

    def rounded(self, vector: FloatArray) -> FloatArray:
        """What of a vector survives the encoding: what the party really puts under the mask."""
        encoded = fixed_point.encode(vector, self._fraction_bits)
        return np.ldexp(encoded.astype(np.float64), -self._fraction_bits)

    def mask(self, vector: FloatArray) -> Words:
        """The encoded vector under this round's mask, which cancels in the sum over all parties."""
        mask = np.zeros(len(vector), dtype=np.uint64)
        if self._active:
            mask = mask_of(self._actor.name, self._pair_secrets, self._actor.round, len(vector))
        return masked(vector, self._fraction_bits, mask, 1 + len(self._pair_secrets))


def check_threshold(threshold: int, n_parties: int) -> None:
    """Over half: or else a server could tell two halves of the parties different things, and open both."""
    lowest = max(2, n_parties // 2 + 1)
    if not lowest <= threshold <= n_parties:
        raise InputError(
            f"recovery_threshold must be 0, or from {lowest} to {n_parties} for {n_parties} parties; got {threshold}"
        )


class RecoveringMasker:
    """A party's side. ``channels`` are the secrets of setup, one with each partner."""

    def __init__(self, actor: Actor, fraction_bits: int, threshold: int, channels: Mapping[str, bytes]) -> None:
        self.actor = actor
        self._fraction_bits = fraction_bits
        self._threshold = threshold
        self._channels = channels
        self._secrets = RoundSecrets()
        self._announced: dict[str, Announcement] = {}
        self._held: dict[str, tuple[Share, Share]] = {}  # by dealer: of its key and of its seed
        self._has_opened = False

    def announce(self) -> Announcement:
        """Draw the secrets of the round and publish what belongs to them."""
        self._secrets, self._has_opened = RoundSecrets(), False
        self._announced.clear()
        self._held.clear()
        found = self._secrets.announcement
        self.actor.publish(
            averaging.ROUND_KEY,
            Tree(
                {
                    "key": IntegerArray.from_ints([found.public], KEY_BYTES),
                    "commitment": Array(np.frombuffer(found.commitment, dtype=np.uint8)),
                }
            ),
        )
        return found

    def deal(self, announced: Mapping[str, Announcement], partners: Sequence[RecoveringMasker]) -> None:
        """A share of key and seed to every party, itself included."""
        self._announced = dict(announced)
        key_shares = secret_sharing.split(self._secrets.key.exponent, len(partners), self._threshold)
        seed_shares = secret_sharing.split(int.from_bytes(self._secrets.seed, "big"), len(partners), self._threshold)
        for partner, key_share, seed_share in zip(partners, key_shares, seed_shares, strict=True):
            if partner is self:
                self._held[self.actor.name] = (key_share, seed_share)
                continue
            name = partner.actor.name
            sealed = secret_sharing.seal(
                self._channels[name],
                _context(self.actor.name, name, self.actor.round),
                key_share.to_bytes() + seed_share.to_bytes(),
            )
            sent = self.actor.send(averaging.SEED_SHARES, partner.actor, Array(np.frombuffer(sealed, dtype=np.uint8)))
            partner.take(self.actor.name, sent.values.tobytes())

    def take(self, dealer: str, sealed: bytes) -> None:
        context = _context(dealer, self.actor.name, self.actor.round)
        opened = secret_sharing.unseal(self._channels[dealer], context, sealed)
        self._held[dealer] = (Share.from_bytes(opened[:SHARE_BYTES]), Share.from_bytes(opened[SHARE_BYTES:]))

    def mask(self, vector: FloatArray) -> Words:
        mask = self._secrets.mask(self.actor.name, self._announced, self.actor.round, len(vector))
        return masked(vector, self._fraction_bits, mask, len(self._announced))

    def open_shares(self, senders: Collection[str], server: Actor) -> Tree:
        """For the server: of every party either the seed's share or the key's, in one answer a round."""
        if self._has_opened:
            raise ProtocolError(f"{self.actor.name} must open the shares of a round once; got a second list of senders")
        # Invented senders would fill the list up to the threshold, and open the keys of all real ones but a victim.
        if len(set(senders)) < len(senders) or not set(senders) <= self._announced.keys():
            raise ProtocolError(
                f"senders must be parties that announced themselves, each once; got {', '.join(senders)}"
            )
        if len(senders) < self._threshold:
            raise ProtocolError(
                f"{self._threshold} parties must send in a round for its sum to be opened; got {len(senders)}: "
                f"{', '.join(senders) or 'none'}"
            )
        self._has_opened = True
        seeds: dict[str, Payload] = {n: _payload(held[1]) for n, held in self._held.items() if n in senders}
        keys: dict[str, Payload] = {n: _payload(held[0]) for n, held in self._held.items() if n not in senders}
        return self.actor.send(averaging.OPENED_SHARES, server, Tree({"seeds": Tree(seeds), "keys": Tree(keys)}))


def begin_round(maskers: Sequence[RecoveringMasker]) -> dict[str, Announcement]:
    """Keys and shares, before anybody sends: a party that is lost later has dealt its shares."""
    announced = {masker.actor.name: masker.announce() for masker in maskers}
    for masker in maskers:
        masker.deal(announced, maskers)
    return announced


def opener(
    maskers: Sequence[RecoveringMasker],
    server: Actor,
    announced: Mapping[str, Announcement],
    *,
    threshold: int,
    fraction_bits: int,
) -> Callable[[Mapping[str, Words]], FloatArray]:
    """The server's way from the vectors that came in to their sum."""

    def opened_total(vectors: Mapping[str, Words]) -> FloatArray:
        server.publish(averaging.SENDERS, Tree({name: Scalar(True) for name in vectors}))
        answers = [masker.open_shares(tuple(vectors), server) for masker in maskers if masker.actor.name in vectors]
        if not answers:
            raise ProtocolError(f"{threshold} parties must send in a round for its sum to be opened; got none")
        opened = Opened(_gathered(answers, "seeds"), _gathered(answers, "keys"))
        total = unmasked_total(vectors, announced, opened, threshold=threshold, round_number=server.round)
        return decoded_total(total, fraction_bits)

    return opened_total


def _gathered(answers: Sequence[Tree], kind: str) -> dict[str, list[Share]]:
    found: dict[str, list[Share]] = {}
    for answer in answers:
        part = answer.items[kind]
        assert isinstance(part, Tree)
        for name, payload in part.items.items():
            assert isinstance(payload, Array)
            found.setdefault(name, []).append(Share.from_bytes(payload.values.tobytes()))
    return found


def _payload(share: Share) -> Array:
    return Array(np.frombuffer(share.to_bytes(), dtype=np.uint8))


def _context(dealer: str, receiver: str, round_number: int) -> bytes:
    parts = [dealer.encode(), receiver.encode(), round_number.to_bytes(8, "big", signed=True)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
