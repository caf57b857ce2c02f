"""One round of a vertically federated linear model whose arbiter holds the key.

Passive parties send their encrypted scores to the active one, which returns the encrypted residual; each party sends
its encrypted gradient to the arbiter and gets its optimised step back in plaintext.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray, SignArray
from fedleak.core.payload import Array, CipherArray, digest
from fedleak.core.steps import Step
from fedleak.crypto import fixed_point
from fedleak.crypto.blinding import FRESH, NONE, signed, signs_of, unsigned
from fedleak.crypto.blinding import encrypted as blinded
from fedleak.crypto.cipher import PrivateKey, PublicKey
from fedleak.protocols.actor import Actor
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.linear_settings import ResidualRule
from fedleak.protocols.linear.member import Member


class Arbiter:
    """Holds the key pair, opens gradients and losses, returns steps."""

    def __init__(self, actor: Actor, key: PrivateKey) -> None:
        self.actor = actor
        self.key = key
        actor.record(linear.PUBLIC_KEY, linear.PRIVATE_KEY, key.to_payload())
        actor.publish(linear.PUBLIC_KEY, key.public.to_payload())

    def step_for(self, member: Member, encrypted: CipherArray, rate: float) -> FloatArray:
        """Open a party's gradient and send its step, which is the gradient times the learning rate."""
        opened = self._open(encrypted)
        self.actor.record(linear.ENCRYPTED_GRADIENT, linear.GRADIENT_OF.of(member.actor.name), Array(opened))
        sent = self.actor.send(linear.OPENED_GRADIENT, member.actor, Array(rate * opened))
        return sent.values

    def note_loss(self, encrypted: CipherArray) -> None:
        self.actor.record(linear.ENCRYPTED_LOSS, linear.LOSS, Array(self._open(encrypted)))

    def keep_for_key(self, step: Step[CipherArray], encrypted: CipherArray) -> None:
        """What the key would open for whoever holds both key and ciphertext.

        A real private key is in the arbiter's records and does it. The ideal cipher's vault is never saved, so the
        plaintext is kept instead, under the ciphertext's digest: it is for those who have the message too.
        """
        if encrypted.scheme == "sealed":
            name = linear.OPENED_BY_KEY.of(digest(encrypted))
            self.actor.record(step, name, Array(self._open(encrypted)))

    def _open(self, encrypted: CipherArray) -> FloatArray:
        residues = self.key.decrypt(encrypted)
        return fixed_point.decode(residues, encrypted.fraction_bits, self.key.public.modulus)


@dataclass(frozen=True, eq=False)
class RoundSetting:
    rule: ResidualRule
    rate: float
    l2: float
    fraction_bits: int
    with_loss: bool
    blinding: str = FRESH


def one_round(arbiter: Arbiter, members: Sequence[Member], batch: IntArray, setting: RoundSetting) -> None:
    """``members`` has the active party first."""
    public, sent_scores = arbiter.key.public, _collect_scores(arbiter, members, batch, setting)
    encrypted_scores = [unsigned(public, score) for score in sent_scores]
    residual, own_signs = _encrypted_residual(arbiter, members[0], batch, encrypted_scores, setting)
    for score in encrypted_scores:
        arbiter.keep_for_key(linear.ENCRYPTED_SCORE, score)
    arbiter.keep_for_key(linear.ENCRYPTED_RESIDUAL, residual)
    if setting.with_loss and len(members) == 2:
        _send_loss(arbiter, members, batch, encrypted_scores[0], setting)
    for member in members:
        received = residual
        if member is not members[0]:
            outgoing = _with_signs_of_factors(public, residual, sent_scores, own_signs)
            received = unsigned(public, members[0].actor.send(linear.ENCRYPTED_RESIDUAL, member.actor, outgoing))
        encrypted = _encrypted_gradient(arbiter, member, batch, received, setting)
        sent = member.actor.send(linear.ENCRYPTED_GRADIENT, arbiter.actor, encrypted)
        step = arbiter.step_for(member, sent, setting.rate)
        member.apply_step(step, setting.rate, setting.l2)


def true_residual(members: Sequence[Member], batch: IntArray, rule: ResidualRule) -> FloatArray:
    score = sum((member.score(batch) for member in members), np.zeros(len(batch)))
    return np.asarray(rule.residual.slope * (score - _target(members[0], batch, rule)))


def _target(active: Member, batch: IntArray, rule: ResidualRule) -> FloatArray:
    assert active.labels is not None
    return rule.residual.target(active.labels[batch])


def _collect_scores(
    arbiter: Arbiter, members: Sequence[Member], batch: IntArray, setting: RoundSetting
) -> list[CipherArray]:
    """Each passive party sends slope * score, encrypted."""
    found = []
    for member in members[1:]:
        share = member.actor.outgoing(linear.SHARED_SCORE, member.score(batch))
        values = fixed_point.encode(setting.rule.residual.slope * share, setting.fraction_bits)
        plain = [int(v) for v in values]
        encrypted = blinded(arbiter.key.public, plain, setting.fraction_bits, setting.blinding)
        found.append(member.actor.send(linear.ENCRYPTED_SCORE, members[0].actor, encrypted))
    return found


def _encrypted_residual(
    arbiter: Arbiter,
    active: Member,
    batch: IntArray,
    encrypted_scores: Sequence[CipherArray],
    setting: RoundSetting,
) -> tuple[CipherArray, SignArray]:
    """[[d]], re-randomised so that equal residuals do not show as equal bytes; not where blinding is left out. And the
    signs of the active party's own part of it."""
    shared = active.actor.outgoing(linear.SHARED_SCORE, active.score(batch) - _target(active, batch, setting.rule))
    total = encrypted_scores[0]
    for encrypted in encrypted_scores[1:]:
        total = arbiter.key.public.add(total, encrypted)
    values = fixed_point.encode(setting.rule.residual.slope * shared, setting.fraction_bits)
    modulus, plain = arbiter.key.public.modulus, [int(value) for value in values]
    found = arbiter.key.public.add_residues(total, [value % modulus for value in plain])
    return arbiter.key.public.rerandomise(found) if setting.blinding != NONE else found, signs_of(plain)


def _with_signs_of_factors(
    public: PublicKey, residual: CipherArray, sent_scores: Sequence[CipherArray], own_signs: SignArray
) -> CipherArray:
    """Plaintexts are added by multiplying ciphertexts, and a product of signed integers has the product of their
    signs: that of every passive party's score and of the active party's own part."""
    signs = own_signs
    for score in sent_scores:
        if score.signs is None:
            return residual
        signs = signs * score.signs
    return signed(public, residual, signs)


def _encrypted_gradient(
    arbiter: Arbiter, member: Member, batch: IntArray, residual: CipherArray, setting: RoundSetting
) -> CipherArray:
    """[[X^T d / s + l2 w]], with 1/s inside the encoded features and the weights added in plaintext."""
    key, bits = arbiter.key.public, setting.fraction_bits
    scaled = fixed_point.encode(member.features[batch] / len(batch), bits)
    product = key.matvec(scaled.T, residual, scalar_fraction_bits=bits)
    shrink = fixed_point.encode(setting.l2 * member.weights, bits)
    return key.rerandomise(key.add_residues(product, [(int(v) << bits) % key.modulus for v in shrink]))


def _send_loss(
    arbiter: Arbiter,
    members: Sequence[Member],
    batch: IntArray,
    encrypted_score: CipherArray,
    setting: RoundSetting,
) -> None:
    """slope/2 (z + t)^2 as a mean over the batch, t the active party's score minus target; z t under encryption."""
    active, passive = members
    key, bits, rule = arbiter.key.public, setting.fraction_bits, setting.rule
    square = rule.residual.slope / 2 * float(np.mean(passive.score(batch) ** 2))
    encoded = fixed_point.encode(np.array([square]), bits)
    squares = passive.actor.send(linear.ENCRYPTED_LOSS, active.actor, key.encrypt([int(encoded[0]) << bits], 2 * bits))
    own = active.score(batch) - _target(active, batch, rule)
    factor = fixed_point.encode(own[None, :] / len(batch), bits)  # encrypted_score holds slope * z
    cross = key.matvec(factor, encrypted_score, scalar_fraction_bits=bits)
    plain = rule.residual.slope / 2 * float(np.mean(own**2)) + rule.loss_shift
    known = int(fixed_point.encode(np.array([plain]), bits)[0]) << bits
    total = key.rerandomise(key.add_residues(key.add(cross, squares), [known % key.modulus]))
    arbiter.note_loss(active.actor.send(linear.ENCRYPTED_LOSS, arbiter.actor, total))
