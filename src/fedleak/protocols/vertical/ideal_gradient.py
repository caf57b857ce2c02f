"""Gradients from an ideal functionality, where additive encryption does not reach.

It stands for a protocol of secure multi-party computation: it computes what the parties ask for and shows each
its own output. Reports mark runs that used it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import IntegerArray
from fedleak.models.sigmoid import Approximation, residual
from fedleak.protocols.vertical.member import Member

SHARE_BYTES = 8  # shares are residues modulo 2^64


def ideal_gradients(
    members: Sequence[Member], batch: IntArray, approximation: Approximation, fraction_bits: int
) -> list[FloatArray]:
    """Every member's gradient, rounded to ``fraction_bits``; what others add to the scores passes their hooks."""
    scores = [member.score(batch) for member in members]
    noised = [member.actor.outgoing(steps.SHARED_SCORE, score) for member, score in zip(members, scores, strict=True)]
    signs = next(member.signs[batch] for member in members if member.signs is not None)
    gradients = []
    for position, member in enumerate(members):
        total = scores[position] + sum(
            (other for index, other in enumerate(noised) if index != position), np.zeros(len(batch))
        )
        gradient = member.features[batch].T @ residual(total, signs, approximation) / len(batch)
        gradients.append(np.ldexp(np.rint(np.ldexp(gradient, fraction_bits)), -fraction_bits))
    return gradients


def hand_out_shares(members: Sequence[Member], gradients: Sequence[FloatArray], fraction_bits: int) -> None:
    """What the parties hold of a gradient that nobody opens: additive shares, each uniform modulo 2^64."""
    modulus = 1 << (8 * SHARE_BYTES)
    for gradient in gradients:
        rest = [round(float(value) * 2**fraction_bits) % modulus for value in gradient]
        for member in members[1:]:
            drawn = [int.from_bytes(member.actor.rng.bytes(SHARE_BYTES), "big") for _ in rest]
            member.actor.record(steps.GRADIENT, "gradient-share", IntegerArray.from_ints(drawn, SHARE_BYTES))
            rest = [(value - share) % modulus for value, share in zip(rest, drawn, strict=True)]
        members[0].actor.record(steps.GRADIENT, "gradient-share", IntegerArray.from_ints(rest, SHARE_BYTES))
