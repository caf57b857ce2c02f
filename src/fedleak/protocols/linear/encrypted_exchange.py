"""Gradients under encryption without an arbiter: protocol 1 of Hu et al. 2022, in every direction.

A residual is a sum over blocks of (a sender's value) times (a factor that the receiver knows), plus what the receiver
knows alone. The first-order polynomial needs one block, the cubic three: additive encryption computes a product only
where one factor is in the clear. The sender encrypts its blocks under its own key, the receiver multiplies and masks,
the sender decrypts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import IntegerArray
from fedleak.core.whole.federation import setting
from fedleak.crypto import CIPHERS, fixed_point
from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.masked_product import (
    ProductInputs,
    UnmaskInputs,
    masked_product,
    open_product,
    product_bits,
    unmask,
)
from fedleak.crypto.masks import HIDING_BITS, pairwise_zero_shares
from fedleak.models.sigmoid import CUBIC, LINEAR, Approximation
from fedleak.protocols.actor import Actor
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.linear_settings import VerticalLinearSettings
from fedleak.protocols.linear.member import Member


@dataclass(frozen=True)
class ExchangeSettings(VerticalLinearSettings):
    pack_products: bool = setting(
        False, "pack masked products before the partner opens them: fewer ciphertexts to re-randomise, send and open"
    )


SHARE_BITS = 62  # what a fixed-point score fits in; zero shares are drawn wider, which hides it statistically


class Terms(ABC):
    scale: ClassVar[float]  # the residual is the sum of the blocks over this
    n_blocks: ClassVar[int]
    max_parties: ClassVar[int | None] = None

    @abstractmethod
    def own(self, member: Member, batch: IntArray) -> FloatArray:
        """The part of (scale times) the residual that the member knows alone."""

    @abstractmethod
    def shared(self, member: Member, batch: IntArray) -> list[FloatArray]:
        """The blocks that it encrypts for others."""

    @abstractmethod
    def factors(self, member: Member, batch: IntArray) -> list[FloatArray] | None:
        """What it multiplies the blocks of a partner with, a value a row; None for a block as it is."""


class TaylorTerms(Terms):
    """f = theta x - 2y (eq. 5): every party's share is a summand, and the residual is f / 4."""

    scale = 4.0
    n_blocks = 1

    def own(self, member: Member, batch: IntArray) -> FloatArray:
        share = member.score(batch)
        return share if member.signs is None else share - 2.0 * member.signs[batch]

    def shared(self, member: Member, batch: IntArray) -> list[FloatArray]:
        return [self.own(member, batch)]

    def factors(self, member: Member, batch: IntArray) -> list[FloatArray] | None:
        return None


class CubicTerms(Terms):
    """Eq. 124 with (a + b)^3 multiplied out, a the active party's score and b the passive one's (eq. 126).

    Three or more parties would need products of two ciphertexts, or a chain in which two see a third's scores: they
    compute on shares instead.
    """

    scale = 1.0
    n_blocks = 3
    max_parties = 2

    def own(self, member: Member, batch: IntArray) -> FloatArray:
        score = member.score(batch)
        alone = CUBIC * score**3 + LINEAR * score
        return alone if member.signs is None else alone - member.signs[batch] / 2

    def shared(self, member: Member, batch: IntArray) -> list[FloatArray]:
        score = member.score(batch)
        if member.signs is None:
            return [score, score**2, score**3]
        return [self.own(member, batch), score, score**2]

    def factors(self, member: Member, batch: IntArray) -> list[FloatArray] | None:
        score = member.score(batch)
        if member.signs is None:
            return [np.ones(len(batch)), 3 * CUBIC * score**2, 3 * CUBIC * score]
        return [3 * CUBIC * score**2 + LINEAR, 3 * CUBIC * score, np.full(len(batch), CUBIC)]


def terms_of(approximation: Approximation, n_parties: int) -> Terms | None:
    """None where additive encryption cannot compute the residual of so many parties' scores."""
    found: dict[Approximation, Terms] = {Approximation.TAYLOR: TaylorTerms(), Approximation.CUBIC: CubicTerms()}
    terms = found.get(approximation)
    too_many = terms is not None and terms.max_parties is not None and n_parties > terms.max_parties
    return None if too_many else terms


@dataclass(frozen=True, eq=False)
class KeyedMember:
    member: Member
    key: PrivateKey

    @property
    def actor(self) -> Actor:
        return self.member.actor


def join(member: Member, settings: ExchangeSettings) -> KeyedMember:
    """Draw a key pair and publish the public half."""
    key = CIPHERS.get(settings.cipher)().generate(settings.key_bits)
    member.actor.record(linear.PUBLIC_KEY, linear.PRIVATE_KEY, key.to_payload())
    member.actor.publish(linear.PUBLIC_KEY, key.public.to_payload())
    return KeyedMember(member, key)


def exchange(
    receiver: KeyedMember,
    sender: KeyedMember,
    values: Sequence[int],
    rows: IntArray,
    *,
    fraction_bits: int,
    blind_bits: int,
    slot_bits: int,
) -> list[int]:
    """Protocol 1 for one direction: the receiver learns sum_i value_i row_i of its own ``rows``."""
    encrypted = sender.key.public.encrypt(values, fraction_bits)
    received = sender.actor.send(linear.ENCRYPTED_SCORE, receiver.actor, encrypted)
    inputs = ProductInputs(
        sender.actor.name, sender.key.public, received, rows, fraction_bits, receiver.actor.rng, blind_bits, slot_bits
    )
    product = receiver.actor.compute(linear.MULTIPLY, inputs, masked_product)
    mask = IntegerArray.from_ints(product.mask, sender.key.public.n_bytes)
    receiver.actor.record(linear.MULTIPLY, linear.MASK_FOR.of(sender.actor.name), mask)
    masked = receiver.actor.send(linear.MASKED_PRODUCT, sender.actor, product.ciphertexts)
    opened = sender.actor.send(linear.OPENED_PRODUCT, receiver.actor, open_product(sender.key, masked))
    unmasking = UnmaskInputs(sender.actor.name, sender.key.public, opened, product.mask, rows.shape[1], slot_bits)
    result: list[int] = receiver.actor.compute(linear.UNMASK, unmasking, unmask)
    return result


def encrypted_gradients(
    members: Sequence[KeyedMember],
    batch: IntArray,
    settings: ExchangeSettings,
    terms: Terms,
    zero_rng: np.random.Generator,
) -> list[FloatArray]:
    """Every member's gradient, in order."""
    shared = [_encoded_blocks(keyed, batch, settings, terms) for keyed in members]
    return [
        _gradient_of(position, members, batch, shared, settings, terms, zero_rng) for position in range(len(members))
    ]


def _encoded_blocks(keyed: KeyedMember, batch: IntArray, settings: ExchangeSettings, terms: Terms) -> list[int]:
    """The member's blocks, one after the other, as they leave it: each passes the hooks of the shared score."""
    blocks = [keyed.actor.outgoing(linear.SHARED_SCORE, block) for block in terms.shared(keyed.member, batch)]
    return [int(value) for block in blocks for value in fixed_point.encode(block, settings.fraction_bits)]


def _gradient_of(
    position: int,
    members: Sequence[KeyedMember],
    batch: IntArray,
    shared: Sequence[Sequence[int]],
    settings: ExchangeSettings,
    terms: Terms,
    zero_rng: np.random.Generator,
) -> FloatArray:
    receiver = members[position]
    others = [index for index in range(len(members)) if index != position]
    blinds = pairwise_zero_shares(zero_rng, len(others), len(shared[position]), SHARE_BITS)
    blind_bits = SHARE_BITS + HIDING_BITS + len(others).bit_length() if len(others) > 1 else 0
    slot_bits = product_bits(len(batch), len(others)) if settings.pack_products else 0
    rows = _factored_rows(receiver, batch, settings, terms)
    partial = [0] * receiver.member.features.shape[1]
    for blind, index in zip(blinds, others, strict=True):
        blinded = [value + share for value, share in zip(shared[index], blind, strict=True)]
        opened = exchange(
            receiver,
            members[index],
            blinded,
            rows,
            fraction_bits=settings.fraction_bits,
            blind_bits=blind_bits,
            slot_bits=slot_bits,
        )
        partial = [total + value for total, value in zip(partial, opened, strict=True)]
    modulus = members[others[0]].key.public.modulus
    from_others = fixed_point.decode([value % modulus for value in partial], 2 * settings.fraction_bits, modulus)
    # G = D(S) + sum_i (own share) x_i + r (line 12); the gradient is G / 4s (eq. 6), or G / s for the cubic (eq. 123).
    total_gradient = from_others + receiver.member.features[batch].T @ terms.own(receiver.member, batch)
    return total_gradient / (terms.scale * len(batch))


def _factored_rows(receiver: KeyedMember, batch: IntArray, settings: ExchangeSettings, terms: Terms) -> IntArray:
    """Own features in fixed point, a row for each value that a partner sends."""
    factors = terms.factors(receiver.member, batch)
    if factors is None:
        return receiver.member.encoded(batch)
    features = receiver.member.features[batch]
    return np.vstack([fixed_point.encode(features * factor[:, None], settings.fraction_bits) for factor in factors])
