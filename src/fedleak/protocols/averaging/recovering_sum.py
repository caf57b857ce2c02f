"""A round of secure aggregation that survives dropouts (Bonawitz et al. 2017, figure 4), from a party's side.

Announce keys, deal sealed shares, send masked updates, hear who sent, confirm to one another what was heard, open
shares: seeds of those who sent, keys of those who did not. A party opens the shares of a round once, and only where
``threshold`` parties confirm the list that it heard.

Who has a party's seed and its key has its vector. Each takes t shares; c parties on a lying server's side give both
kinds, the n - c others one kind each: 2(t - c) of them are needed, so that 2t > n + c rules it out. Then, too, no two
lists can have t confirmations each.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import InputError, ProtocolError
from fedleak.core.payload import Array, Payload, Tree
from fedleak.crypto import secret_sharing
from fedleak.crypto.secret_sharing import SHARE_BYTES, Share
from fedleak.crypto.secure_aggregation import (
    Announcement,
    Opened,
    RoundSecrets,
    Words,
    decoded_total,
    masked,
    unmasked_total,
)
from fedleak.protocols.actor import Actor
from fedleak.protocols.averaging import vocabulary as averaging


def check_threshold(threshold: int, n_parties: int, n_colluders: int) -> None:
    """2t > n + c (theorem 6.5): or else a server could tell two groups of parties different things, and open both."""
    lowest = max(2, (n_parties + n_colluders) // 2 + 1)
    if lowest > n_parties:
        raise InputError(
            f"colluders must be fewer than the {n_parties} parties by 1 or more beside a recovery_threshold; "
            f"got {n_colluders}"
        )
    if not lowest <= threshold <= n_parties:
        raise InputError(
            f"recovery_threshold must be 0, or from {lowest} to {n_parties} for {n_parties} parties of which "
            f"{n_colluders} may collude with the server; got {threshold}. Where nobody does, set colluders = 0"
        )


class RecoveringMasker:
    """A party's side. ``channels`` are the secrets of setup, one with each partner."""

    def __init__(
        self, actor: Actor, fraction_bits: int, threshold: int, channels: Mapping[str, bytes], *, confirms: bool = True
    ) -> None:
        self.actor = actor
        self._fraction_bits = fraction_bits
        self._threshold = threshold
        self._channels = channels
        self._confirms = confirms
        self._secrets = RoundSecrets.fresh()
        self._announced: dict[str, Announcement] = {}
        self._held: dict[str, tuple[Share, Share]] = {}  # by dealer: of its key and of its seed
        self._heard: tuple[str, ...] | None = None

    def announce(self) -> Announcement:
        """Draw the secrets of the round and publish what belongs to them."""
        self._secrets, self._heard = RoundSecrets.fresh(), None
        self._announced.clear()
        self._held.clear()
        found = self._secrets.announcement
        told: dict[str, Payload] = {"key": _bytes(found.public), "commitment": _bytes(found.commitment)}
        self.actor.publish(averaging.ROUND_KEY, Tree(told))
        return found

    def deal(self, announced: Mapping[str, Announcement], partners: Sequence[RecoveringMasker]) -> None:
        """A share of key and seed to every party, itself included."""
        self._announced = dict(announced)
        key, seed = (int.from_bytes(each, "big") for each in (self._secrets.key.secret, self._secrets.seed))
        key_shares = secret_sharing.split(key, len(partners), self._threshold)
        seed_shares = secret_sharing.split(seed, len(partners), self._threshold)
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
            sent = self.actor.send(averaging.SEED_SHARES, partner.actor, _bytes(sealed))
            partner.take(self.actor.name, sent.values.tobytes())

    def take(self, dealer: str, sealed: bytes) -> None:
        context = _context(dealer, self.actor.name, self.actor.round)
        opened = secret_sharing.unseal(self._channels[dealer], context, sealed)
        self._held[dealer] = (Share.from_bytes(opened[:SHARE_BYTES]), Share.from_bytes(opened[SHARE_BYTES:]))

    def keep_shares(self) -> None:
        """On record, once all have dealt: what the party has, a coalition with it has too."""
        held: dict[str, Payload] = {
            name: _bytes(of_key.to_bytes() + of_seed.to_bytes()) for name, (of_key, of_seed) in self._held.items()
        }
        self.actor.record(averaging.SEED_SHARES, averaging.HELD_SHARES, Tree(held))

    def mask(self, vector: FloatArray) -> Words:
        mask = self._secrets.mask(self.actor.name, self._announced, self.actor.round, len(vector))
        return masked(vector, self._fraction_bits, mask, len(self._announced))

    def hear(self, senders: Collection[str]) -> Tree:
        """The server's list, one a round; returns the tags by which partners know that it is theirs too."""
        if self._heard is not None:
            raise ProtocolError(f"{self.actor.name} must hear one list of senders a round; got a second")
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
        self._heard = tuple(sorted(senders))
        if not self._confirms:
            return Tree({})
        tags: dict[str, Payload] = {
            name: _bytes(self._tag(self.actor.name, name)) for name in self._heard if name != self.actor.name
        }
        return self.actor.publish(averaging.CONFIRMED_SENDERS, Tree(tags))

    def _tag(self, sender: str, receiver: str) -> bytes:
        assert self._heard is not None
        context = _context(sender, receiver, self.actor.round) + b"senders"
        partner = receiver if sender == self.actor.name else sender
        return secret_sharing.tag(self._channels[partner], context, _framed(name.encode() for name in self._heard))

    def open_shares(self, confirmations: Mapping[str, Tree], server: Actor) -> Tree:
        """For the server: of every party either the seed's share or the key's, in one answer a round."""
        assert self._heard is not None, "a list of senders is heard before shares are opened"
        if self._confirms:
            self._check(confirmations)
        seeds: dict[str, Payload] = {n: _bytes(h[1].to_bytes()) for n, h in self._held.items() if n in self._heard}
        keys: dict[str, Payload] = {n: _bytes(h[0].to_bytes()) for n, h in self._held.items() if n not in self._heard}
        return self.actor.send(averaging.OPENED_SHARES, server, Tree({"seeds": Tree(seeds), "keys": Tree(keys)}))

    def _check(self, confirmations: Mapping[str, Tree]) -> None:
        alike = [name for name, told in confirmations.items() if name != self.actor.name and self._vouches(name, told)]
        if 1 + len(alike) < self._threshold:
            raise ProtocolError(
                f"{self._threshold} parties must confirm the list of senders that {self.actor.name} heard; got "
                f"{1 + len(alike)}: the server told others another list, or they are lost"
            )

    def _vouches(self, name: str, told: Tree) -> bool:
        found = told.items.get(self.actor.name)
        return isinstance(found, Array) and hmac.compare_digest(
            found.values.tobytes(), self._tag(name, self.actor.name)
        )


def begin_round(maskers: Sequence[RecoveringMasker]) -> dict[str, Announcement]:
    """Keys and shares, before anybody sends: a party that is lost later has dealt its shares."""
    announced = {masker.actor.name: masker.announce() for masker in maskers}
    for masker in maskers:
        masker.deal(announced, maskers)
    for masker in maskers:
        masker.keep_shares()
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
        there = [masker for masker in maskers if masker.actor.name in vectors]
        if not there:
            raise ProtocolError(f"{threshold} parties must send in a round for its sum to be opened; got none")
        told = _tell(server, [masker.actor for masker in there])
        confirmations = {masker.actor.name: masker.hear(told[masker.actor.name]) for masker in there}
        answers = [masker.open_shares(confirmations, server) for masker in there]
        opened = Opened(_gathered(answers, "seeds"), _gathered(answers, "keys"))
        total = unmasked_total(vectors, announced, opened, threshold=threshold, round_number=server.round)
        return decoded_total(total, fraction_bits)

    return opened_total


def _tell(server: Actor, senders: Sequence[Actor]) -> dict[str, tuple[str, ...]]:
    """Whom the server tells what: an honest one tells everybody the same, and publishes it."""
    names = tuple(sender.name for sender in senders)
    lists = server.compute(averaging.SENDERS, names, lambda sent: averaging.told_senders(dict.fromkeys(sent, sent)))
    assert isinstance(lists, Tree)
    found = {name: tuple(part.items) for name, part in lists.items.items() if isinstance(part, Tree)}
    if len({frozenset(told) for told in found.values()}) == 1:
        server.publish(averaging.SENDERS, averaging.senders_payload(found[names[0]]))
    else:
        for sender in senders:
            server.send(averaging.SENDERS, sender, averaging.senders_payload(found[sender.name]))
    return found


def _gathered(answers: Sequence[Tree], kind: str) -> dict[str, list[Share]]:
    found: dict[str, list[Share]] = {}
    for answer in answers:
        part = answer.items[kind]
        assert isinstance(part, Tree)
        for name, payload in part.items.items():
            assert isinstance(payload, Array)
            found.setdefault(name, []).append(Share.from_bytes(payload.values.tobytes()))
    return found


def _bytes(data: bytes) -> Array:
    return Array(np.frombuffer(data, dtype=np.uint8))


def _context(dealer: str, receiver: str, round_number: int) -> bytes:
    return _framed([dealer.encode(), receiver.encode(), round_number.to_bytes(8, "big", signed=True)])


def _framed(parts: Iterable[bytes]) -> bytes:
    """In a row, so that no other parts look the same."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
