"""Vertical logistic regression without an arbiter: protocol 1 of Hu et al. 2022, in every direction.

Every party has a key pair of its own. For each ordered pair of parties, one encrypts its share of the linear
score, the other multiplies it with its features, masks the product and has it decrypted. With
three or more parties the shares carry pairwise masks that cancel in a receiver's sum, so that it learns
its gradient and no partner's single term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook
from fedleak.core.payload import Array, IntegerArray
from fedleak.core.protocol import Protocol
from fedleak.core.run import Run
from fedleak.core.settings import Settings
from fedleak.core.sink import Sink
from fedleak.core.steps import Role
from fedleak.crypto import CIPHERS, fixed_point
from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.masked_product import ProductInputs, UnmaskInputs, masked_product, open_product, unmask
from fedleak.crypto.masks import pairwise_zero_shares
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.vertical.batches import batches
from fedleak.protocols.vertical.facts import linear_facts, member_capabilities
from fedleak.protocols.vertical.member import Member, order_members
from fedleak.protocols.vertical.outcome import ResidualLog, truth_of, utility
from fedleak.protocols.vertical.settings import VerticalLinearSettings

SHARE_BITS = 62  # what a fixed-point score fits in; zero shares are drawn wider, which hides it statistically


@dataclass(frozen=True)
class VerticalLogisticSettings(VerticalLinearSettings):
    pass


@dataclass(frozen=True, eq=False)
class _KeyedMember:
    member: Member
    key: PrivateKey

    @property
    def actor(self) -> Actor:
        return self.member.actor


class VerticalLogistic(Protocol):
    name = "vertical-logistic"
    aliases = ("vlr",)
    summary = "vertical logistic regression, each party with its own key pair, no arbiter"
    reference = Reference("hu2022", "protocol 1")
    settings_type = VerticalLogisticSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})

    def run(self, federation: Federation, *, rng: np.random.Generator, hooks: Sequence[Hook[Any]], sink: Sink) -> Run:
        settings = federation.settings
        if not isinstance(settings, VerticalLogisticSettings):
            raise InputError(f"settings must be those of {self.name}; got {type(settings).__name__}")
        active, passive = order_members(federation)
        parties = (active, *passive)
        order_rng, zero_rng, *party_rngs = rng.spawn(2 + len(parties))
        n_all = sum(len(party.columns) for party in parties)
        members = [
            _join(Member(party, Actor(party.name, party.role, hooks, sink, own), settings, n_all), settings)
            for party, own in zip(parties, party_rngs, strict=True)
        ]
        ids = active.train.ids
        residuals = ResidualLog()
        schedule = batches(len(ids), settings.batch_size, settings.epochs, settings.shuffle, order_rng)
        for number, batch in enumerate(schedule):
            start_round([keyed.actor for keyed in members], number)
            members[0].actor.publish(steps.BATCH, Array(ids[batch]))
            residuals.add(number, ids[batch], _true_residual(members, batch))
            _one_round(members, batch, settings, zero_rng)
        facts = self.facts(settings, tuple(party.facts for party in parties), len(ids))
        captured = sink.finish(facts.with_max_row_norm(federation.max_row_norm))
        final = [keyed.member.weights for keyed in members]
        truth = truth_of(active, passive, residuals)
        return Run(captured.transcript, captured.locals, truth, utility(parties, final))

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        return linear_facts(cls.name, settings, parties, n_rows, approximation="taylor")

    @classmethod
    def reveals(
        cls,
        settings: Settings,
        parties: tuple[PartyFacts, ...],
        coalition: tuple[str, ...],
    ) -> frozenset[Capability]:
        return member_capabilities(parties, coalition)


def _join(member: Member, settings: VerticalLogisticSettings) -> _KeyedMember:
    key = CIPHERS.get(settings.cipher)().generate(settings.key_bits)
    member.actor.record(steps.PUBLIC_KEY, "private-key", key.to_payload())
    member.actor.publish(steps.PUBLIC_KEY, key.public.to_payload())
    return _KeyedMember(member, key)


def _own_share(keyed: _KeyedMember, batch: IntArray) -> FloatArray:
    """The party's part of f = theta x - 2y (eq. 5): its score, and at the active party the labels."""
    share = keyed.member.score(batch)
    if keyed.member.signs is not None:
        share = share - 2.0 * keyed.member.signs[batch]
    return share


def _true_residual(members: Sequence[_KeyedMember], batch: IntArray) -> FloatArray:
    """f / 4, the Taylor-approximated output minus label (eq. 4)."""
    return sum((_own_share(keyed, batch) for keyed in members), np.zeros(len(batch))) / 4.0


def _one_round(
    members: Sequence[_KeyedMember], batch: IntArray, settings: VerticalLogisticSettings, zero_rng: np.random.Generator
) -> None:
    own = [_own_share(keyed, batch) for keyed in members]
    shared = [
        fixed_point.encode(keyed.actor.outgoing(steps.SHARED_SCORE, share), settings.fraction_bits)
        for keyed, share in zip(members, own, strict=True)
    ]
    gradients = []
    for position, receiver in enumerate(members):
        others = [index for index in range(len(members)) if index != position]
        blinds = pairwise_zero_shares(zero_rng, len(others), len(batch), SHARE_BITS)
        partial = [0] * receiver.member.features.shape[1]
        for blind, index in zip(blinds, others, strict=True):
            blinded = [int(value) + share for value, share in zip(shared[index], blind, strict=True)]
            opened = _exchange(receiver, members[index], batch, blinded, settings)
            partial = [total + value for total, value in zip(partial, opened, strict=True)]
        modulus = members[others[0]].key.public.modulus
        residues = [value % modulus for value in partial]
        from_others = fixed_point.decode(residues, 2 * settings.fraction_bits, modulus)
        # G = D(S) + sum_i (own share) x_i + r (line 12); the gradient is G / 4s (eq. 6).
        total_gradient = from_others + receiver.member.features[batch].T @ own[position]
        gradients.append(total_gradient / (4 * len(batch)))
    for keyed, gradient in zip(members, gradients, strict=True):
        keyed.member.update(gradient, settings.learning_rate)


def _exchange(
    receiver: _KeyedMember,
    sender: _KeyedMember,
    batch: IntArray,
    values: Sequence[int],
    settings: VerticalLogisticSettings,
) -> list[int]:
    """Protocol 1 for one direction: the receiver learns sum_i value_i x_i of its own features."""
    bits = settings.fraction_bits
    encrypted = sender.key.public.encrypt(values, bits)
    received = sender.actor.send(steps.ENCRYPTED_SCORE, receiver.actor, encrypted)
    inputs = ProductInputs(
        sender.actor.name, sender.key.public, received, receiver.member.encoded[batch], bits, receiver.actor.rng
    )
    product = receiver.actor.compute(steps.MULTIPLY, inputs, masked_product)
    mask = IntegerArray.from_ints(product.mask, sender.key.public.n_bytes)
    receiver.actor.record(steps.MULTIPLY, f"mask-for-{sender.actor.name}", mask)
    masked = receiver.actor.send(steps.MASKED_PRODUCT, sender.actor, product.ciphertexts)
    opened = sender.actor.send(steps.OPENED_PRODUCT, receiver.actor, open_product(sender.key, masked))
    unmasking = UnmaskInputs(sender.actor.name, sender.key.public, opened, product.mask)
    result: list[int] = receiver.actor.compute(steps.UNMASK, unmasking, unmask)
    return result
