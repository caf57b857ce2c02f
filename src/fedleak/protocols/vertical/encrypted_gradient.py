"""One round of gradients under encryption: every party multiplies, the key holders decrypt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.crypto import fixed_point
from fedleak.crypto.masks import HIDING_BITS, pairwise_zero_shares
from fedleak.protocols.vertical.keyed import KeyedMember, exchange
from fedleak.protocols.vertical.settings import VerticalLinearSettings
from fedleak.protocols.vertical.terms import Terms

SHARE_BITS = 62  # what a fixed-point score fits in; zero shares are drawn wider, which hides it statistically


def encrypted_gradients(
    members: Sequence[KeyedMember],
    batch: IntArray,
    settings: VerticalLinearSettings,
    terms: Terms,
    zero_rng: np.random.Generator,
) -> list[FloatArray]:
    """Every member's gradient, in order."""
    shared = [_encoded_blocks(keyed, batch, settings, terms) for keyed in members]
    return [
        _gradient_of(position, members, batch, shared, settings, terms, zero_rng) for position in range(len(members))
    ]


def _encoded_blocks(keyed: KeyedMember, batch: IntArray, settings: VerticalLinearSettings, terms: Terms) -> list[int]:
    """The member's blocks, one after the other, as they leave it: each passes the hooks of the shared score."""
    blocks = [keyed.actor.outgoing(steps.SHARED_SCORE, block) for block in terms.shared(keyed.member, batch)]
    return [int(value) for block in blocks for value in fixed_point.encode(block, settings.fraction_bits)]


def _gradient_of(
    position: int,
    members: Sequence[KeyedMember],
    batch: IntArray,
    shared: Sequence[Sequence[int]],
    settings: VerticalLinearSettings,
    terms: Terms,
    zero_rng: np.random.Generator,
) -> FloatArray:
    receiver = members[position]
    others = [index for index in range(len(members)) if index != position]
    blinds = pairwise_zero_shares(zero_rng, len(others), len(shared[position]), SHARE_BITS)
    blind_bits = SHARE_BITS + HIDING_BITS + len(others).bit_length() if len(others) > 1 else 0
    rows = _factored_rows(receiver, batch, settings, terms)
    partial = [0] * receiver.member.features.shape[1]
    for blind, index in zip(blinds, others, strict=True):
        blinded = [value + share for value, share in zip(shared[index], blind, strict=True)]
        opened = exchange(
            receiver, members[index], blinded, rows, fraction_bits=settings.fraction_bits, blind_bits=blind_bits
        )
        partial = [total + value for total, value in zip(partial, opened, strict=True)]
    modulus = members[others[0]].key.public.modulus
    from_others = fixed_point.decode([value % modulus for value in partial], 2 * settings.fraction_bits, modulus)
    # G = D(S) + sum_i (own share) x_i + r (line 12); the gradient is G / 4s (eq. 6), or G / s for the cubic (eq. 123).
    total_gradient = from_others + receiver.member.features[batch].T @ terms.own(receiver.member, batch)
    return total_gradient / (terms.scale * len(batch))


def _factored_rows(receiver: KeyedMember, batch: IntArray, settings: VerticalLinearSettings, terms: Terms) -> IntArray:
    """Own features in fixed point, a row for each value that a partner sends."""
    factors = terms.factors(receiver.member, batch)
    if factors is None:
        return receiver.member.encoded[batch]
    features = receiver.member.features[batch]
    return np.vstack([fixed_point.encode(features * factor[:, None], settings.fraction_bits) for factor in factors])
