"""Vertical logistic regression with an arbiter, in the form of FATE 1.4.

The arbiter holds the only key pair. Passive parties send their encrypted scores to the active one, which
returns the encrypted residual; each party sends its encrypted gradient to the arbiter and gets
its optimised step back in plaintext.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
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
from fedleak.core.payload import Array, CipherArray
from fedleak.core.protocol import Protocol
from fedleak.core.run import Run
from fedleak.core.settings import Settings, setting
from fedleak.core.sink import Sink
from fedleak.core.steps import Role
from fedleak.crypto import CIPHERS, fixed_point
from fedleak.crypto.cipher import PrivateKey
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.vertical.batches import batches
from fedleak.protocols.vertical.facts import linear_facts, member_capabilities
from fedleak.protocols.vertical.member import Member, order_members
from fedleak.protocols.vertical.outcome import RoundLog, truth_of, utility
from fedleak.protocols.vertical.settings import VerticalLinearSettings


@dataclass(frozen=True)
class VerticalLogisticArbiterSettings(VerticalLinearSettings):
    l2: float = setting(0.0, "weight of the squared norm of the weights in the loss")
    decay: bool = setting(False, "divide the learning rate by sqrt(1 + epoch), as FATE does")
    loss: bool = setting(True, "send the encrypted loss to the arbiter (two data parties only)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.l2 < inf:
            raise InputError(f"l2 must be 0 or more and finite; got {self.l2}")


class Arbiter:
    """Holds the key pair, opens gradients and losses, returns steps."""

    def __init__(self, actor: Actor, key: PrivateKey) -> None:
        self.actor = actor
        self.key = key
        actor.record(steps.PUBLIC_KEY, "private-key", key.to_payload())
        actor.publish(steps.PUBLIC_KEY, key.public.to_payload())

    def step_for(self, member: Member, encrypted: CipherArray, rate: float) -> FloatArray:
        """Open a party's gradient and send its step, which is the gradient times the learning rate."""
        opened = self._open(encrypted)
        self.actor.record(steps.ENCRYPTED_GRADIENT, f"gradient-of-{member.actor.name}", Array(opened))
        sent = self.actor.send(steps.OPENED_GRADIENT, member.actor, Array(rate * opened))
        return sent.values

    def note_loss(self, encrypted: CipherArray) -> None:
        self.actor.record(steps.ENCRYPTED_LOSS, "loss", Array(self._open(encrypted)))

    def _open(self, encrypted: CipherArray) -> FloatArray:
        residues = self.key.decrypt(encrypted)
        return fixed_point.decode(residues, encrypted.fraction_bits, self.key.public.modulus)


class VerticalLogisticArbiter(Protocol):
    name = "vertical-logistic-arbiter"
    aliases = ("hetero-lr",)
    summary = "vertical logistic regression with an arbiter that holds the key (the form of FATE)"
    reference = Reference("li2021", "section 2.2")
    settings_type = VerticalLogisticArbiterSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE, Role.ARBITER})

    def run(self, federation: Federation, *, rng: np.random.Generator, hooks: Sequence[Hook[Any]], sink: Sink) -> Run:
        settings = federation.settings
        if not isinstance(settings, VerticalLogisticArbiterSettings):
            raise InputError(f"settings must be those of {self.name}; got {type(settings).__name__}")
        active, passive = order_members(federation)
        arbiter_name = _arbiter_name(federation)
        parties = (active, *passive)
        order_rng, arbiter_rng, *party_rngs = rng.spawn(2 + len(parties))
        n_all = sum(len(party.columns) for party in parties)
        key = CIPHERS.get(settings.cipher)().generate(settings.key_bits)
        arbiter = Arbiter(Actor(arbiter_name, Role.ARBITER, hooks, sink, arbiter_rng), key)
        members = [
            Member(party, Actor(party.name, party.role, hooks, sink, own), settings, n_all)
            for party, own in zip(parties, party_rngs, strict=True)
        ]
        residuals = RoundLog()
        ids = active.train.ids
        rounds_an_epoch = -(-len(ids) // settings.batch_size)
        schedule = batches(len(ids), settings.batch_size, settings.epochs, settings.shuffle, order_rng)
        for number, batch in enumerate(schedule):
            start_round([arbiter.actor, *(member.actor for member in members)], number)
            members[0].actor.publish(steps.BATCH, Array(ids[batch]))
            residuals.add(number, ids[batch], _true_residual(members, batch))
            rate = settings.learning_rate
            if settings.decay:
                rate /= np.sqrt(1 + number // rounds_an_epoch)
            _one_round(arbiter, members, batch, rate, settings)
        facts = self.facts(settings, (*(party.facts for party in parties), arbiter_facts(arbiter_name)), len(ids))
        captured = sink.finish(facts.with_max_row_norm(federation.max_row_norm))
        truth = truth_of(active, passive, residuals)
        return Run(captured.transcript, captured.locals, truth, utility(parties, [m.weights for m in members]))

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        facts = linear_facts(cls.name, settings, parties, n_rows, approximation="taylor")
        assert isinstance(settings, VerticalLogisticArbiterSettings)
        options = {**facts.options, "l2": settings.l2, "decay": settings.decay, "loss": settings.loss}
        return replace(facts, options=options)

    @classmethod
    def reveals(
        cls,
        settings: Settings,
        parties: tuple[PartyFacts, ...],
        coalition: tuple[str, ...],
    ) -> frozenset[Capability]:
        found = member_capabilities(parties, coalition)
        if any(party.role is Role.ARBITER and party.name in coalition for party in parties):
            found |= {Capability.ALL_GRADIENTS, Capability.BATCH_IDS}
        return found


def arbiter_facts(name: str) -> PartyFacts:
    return PartyFacts(name, Role.ARBITER, 0)


def _arbiter_name(federation: Federation) -> str:
    names = [party.name for party in federation.with_role(Role.ARBITER)]
    if len(names) != 1:
        raise InputError(f"{federation.protocol} must have one arbiter; got {len(names)}")
    return names[0]


def _true_residual(members: Sequence[Member], batch: IntArray) -> FloatArray:
    signs = members[0].signs
    assert signs is not None
    score = sum((member.score(batch) for member in members), np.zeros(len(batch)))
    return 0.25 * score - 0.5 * signs[batch]


def _one_round(
    arbiter: Arbiter,
    members: Sequence[Member],
    batch: IntArray,
    rate: float,
    settings: VerticalLogisticArbiterSettings,
) -> None:
    encrypted_scores = _collect_scores(arbiter, members, batch, settings)
    residual = _encrypted_residual(arbiter, members[0], batch, encrypted_scores, settings)
    if settings.loss and len(members) == 2:
        _send_loss(arbiter, members, batch, encrypted_scores[0], settings)
    for member in members:
        received = residual
        if member is not members[0]:
            received = members[0].actor.send(steps.ENCRYPTED_RESIDUAL, member.actor, residual)
        encrypted = _encrypted_gradient(arbiter, member, batch, received, settings)
        sent = member.actor.send(steps.ENCRYPTED_GRADIENT, arbiter.actor, encrypted)
        step = arbiter.step_for(member, sent, rate)
        member.apply_step(step, rate, settings.l2)


def _collect_scores(
    arbiter: Arbiter, members: Sequence[Member], batch: IntArray, settings: VerticalLogisticArbiterSettings
) -> list[CipherArray]:
    """Each passive party sends its quarter score, encrypted (0.25 wx of the Taylor residual)."""
    found = []
    for member in members[1:]:
        share = member.actor.outgoing(steps.SHARED_SCORE, member.score(batch))
        values = fixed_point.encode(0.25 * share, settings.fraction_bits)
        encrypted = arbiter.key.public.encrypt([int(v) for v in values], settings.fraction_bits)
        found.append(member.actor.send(steps.ENCRYPTED_SCORE, members[0].actor, encrypted))
    return found


def _encrypted_residual(
    arbiter: Arbiter,
    active: Member,
    batch: IntArray,
    encrypted_scores: Sequence[CipherArray],
    settings: VerticalLogisticArbiterSettings,
) -> CipherArray:
    """[[d]] = [[0.25 wx - 0.5 y]], re-randomised so that equal residuals do not show as equal bytes."""
    assert active.signs is not None
    own = 0.25 * active.actor.outgoing(steps.SHARED_SCORE, active.score(batch) - 2.0 * active.signs[batch])
    total = encrypted_scores[0]
    for encrypted in encrypted_scores[1:]:
        total = arbiter.key.public.add(total, encrypted)
    values = fixed_point.encode(own, settings.fraction_bits)
    modulus = arbiter.key.public.modulus
    return arbiter.key.public.rerandomise(
        arbiter.key.public.add_residues(total, [int(value) % modulus for value in values])
    )


def _encrypted_gradient(
    arbiter: Arbiter,
    member: Member,
    batch: IntArray,
    residual: CipherArray,
    settings: VerticalLogisticArbiterSettings,
) -> CipherArray:
    """[[X^T d / s + l2 w]], with 1/s inside the encoded features and the weights added in plaintext."""
    key = arbiter.key.public
    bits = settings.fraction_bits
    scaled = fixed_point.encode(member.features[batch] / len(batch), bits)
    product = key.matvec(scaled.T, residual, scalar_fraction_bits=bits)
    shrink = fixed_point.encode(settings.l2 * member.weights, bits)
    return key.rerandomise(key.add_residues(product, [(int(v) << bits) % key.modulus for v in shrink]))


def _send_loss(
    arbiter: Arbiter,
    members: Sequence[Member],
    batch: IntArray,
    encrypted_score: CipherArray,
    settings: VerticalLogisticArbiterSettings,
) -> None:
    """Taylor loss ln 2 - y wx / 2 + (wx)^2 / 8 as a mean over the batch; the cross term under encryption."""
    active, passive = members
    assert active.signs is not None
    key, bits = arbiter.key.public, settings.fraction_bits
    square = float(np.sum(passive.score(batch) ** 2)) / (8 * len(batch))
    encoded = fixed_point.encode(np.array([square]), bits)
    squares = passive.actor.send(steps.ENCRYPTED_LOSS, active.actor, key.encrypt([int(encoded[0]) << bits], 2 * bits))
    own, signs = active.score(batch), active.signs[batch]
    # encrypted_score holds a quarter of the passive score: (y/2) wx = 2 y (wx/4), (1/4) own wx = own (wx/4).
    factor = fixed_point.encode((own - 2 * signs)[None, :] / len(batch), bits)
    cross = key.matvec(factor, encrypted_score, scalar_fraction_bits=bits)
    plain = float(np.mean(np.log(2) - signs * own / 2 + own**2 / 8))
    known = int(fixed_point.encode(np.array([plain]), bits)[0]) << bits
    total = key.rerandomise(key.add_residues(key.add(cross, squares), [known % key.modulus]))
    arbiter.note_loss(active.actor.send(steps.ENCRYPTED_LOSS, arbiter.actor, total))
