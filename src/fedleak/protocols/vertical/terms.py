"""What a party encrypts for others and what it multiplies their ciphertexts with, for each approximated residual.

A residual is a sum over blocks of (a sender's value) times (a factor that the receiver knows), plus what the receiver
knows alone. The first-order polynomial needs one block, the cubic three: additive encryption
computes a product only where one factor is in the clear.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.sigmoid import CUBIC, LINEAR, Approximation
from fedleak.protocols.vertical.member import Member


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

    Three or more parties would need products of two ciphertexts.
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


def terms_of(approximation: Approximation) -> Terms | None:
    """None where additive encryption cannot compute the residual."""
    found: dict[Approximation, Terms] = {Approximation.TAYLOR: TaylorTerms(), Approximation.CUBIC: CubicTerms()}
    return found.get(approximation)
