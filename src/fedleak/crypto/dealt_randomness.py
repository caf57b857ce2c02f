"""What a dealer hands out before parties compute on shares: random numbers that fit together (Beaver 1991).

The dealer is ideal: it is trusted to be honest, to collude with nobody, and it receives nothing. It draws from the
operating system, so that who sees its own part can make no other. Each party keeps its part in its records.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.crypto.ring_arithmetic import WORD_BITS, Words

LEVELS = WORD_BITS.bit_length() - 1  # of the adder: distances 1, 2, 4, ..., 32
N_ANDS = 2 * LEVELS - 1  # two a level, one at the last
Draw = Callable[[tuple[int, ...]], Words]


def uniform_words(shape: tuple[int, ...]) -> Words:
    n_words = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(secrets.token_bytes(8 * n_words), dtype=np.uint64).reshape(shape)


def split(values: Words, n_parties: int, draw: Draw = uniform_words) -> Words:
    """Shares that sum to the values; any but one of them are uniform and independent of it."""
    others = draw((n_parties - 1, *values.shape))
    return np.concatenate([(values - others.sum(axis=0, dtype=np.uint64))[None], others])


def split_bits(values: Words, n_parties: int, draw: Draw = uniform_words) -> Words:
    """The same for each bit: shares whose exclusive or gives the values."""
    others = draw((n_parties - 1, *values.shape))
    return np.concatenate([(values ^ np.bitwise_xor.reduce(others, axis=0))[None], others])


@dataclass(frozen=True, eq=False)
class Triple:
    """Shares of left, right and their product."""

    left: Words
    right: Words
    product: Words


@dataclass(frozen=True, eq=False)
class MaskedNumber:
    """For a number that is opened under a mask: the mask, its bits, what its subtraction takes."""

    mask: Words
    mask_bits: Words
    shifted: Words  # mask >> bits, where a shift asks for it
    ands: Triple  # on bits, (parties, N_ANDS, ...)


@dataclass(frozen=True, eq=False)
class RandomFlags:
    """Random bits, as exclusive ors and as sums."""

    bits: Words
    numbers: Words


class Dealer:
    """``hand_out`` gets what each call dealt, a row a party."""

    def __init__(self, n_parties: int, hand_out: Callable[[Words], None], draw: Draw = uniform_words) -> None:
        self._n_parties = n_parties
        self._hand_out = hand_out
        self._draw = draw
        self.n_words = 0  # dealt to each party
        self.n_products = 0  # triples for numbers, counted by cells
        self.n_ands = 0  # triples for words of 64 bits
        self._table: Words = np.empty((0, 0), dtype=np.uint64)

    def table_mask(self, shape: tuple[int, int]) -> Words:
        """Of the table that all products share; the dealer keeps it."""
        self._table = self._draw(shape)
        (found,) = self._dealt(self._split(self._table))
        return found

    def table_product(self, rows: IntArray, *, transposed: bool) -> tuple[Words, Words]:
        """A mask for the vector, and the product of the table's mask with it."""
        matrix = self._table[rows].T if transposed else self._table[rows]
        vector = self._draw((matrix.shape[1],))
        self.n_products += matrix.size
        mask, product = self._dealt(self._split(vector), self._split(matrix @ vector))
        return mask, product

    def multiplication(self, shape: tuple[int, ...]) -> Triple:
        left, right = self._draw(shape), self._draw(shape)
        self.n_products += left.size
        return Triple(*self._dealt(self._split(left), self._split(right), self._split(left * right)))

    def masked_number(self, shape: tuple[int, ...], bits: int = 0) -> MaskedNumber:
        mask = self._draw(shape)
        left, right = self._draw((N_ANDS, *shape)), self._draw((N_ANDS, *shape))
        self.n_ands += left.size
        shifted = mask >> np.uint64(bits)
        numbers = (self._split(mask), self._split_bits(mask), self._split(shifted))
        triple = (self._split_bits(left), self._split_bits(right), self._split_bits(left & right))
        self._dealt(*numbers, *triple)
        return MaskedNumber(*numbers, Triple(*triple))

    def flags(self, shape: tuple[int, ...]) -> RandomFlags:
        bits = self._draw(shape) & np.uint64(1)
        dealt = self._split_bits(bits) & np.uint64(1), self._split(bits)
        return RandomFlags(*self._dealt(*dealt))

    def _split(self, values: Words) -> Words:
        return split(values, self._n_parties, self._draw)

    def _split_bits(self, values: Words) -> Words:
        return split_bits(values, self._n_parties, self._draw)

    def _dealt(self, *parts: Words) -> tuple[Words, ...]:
        flat = np.concatenate([part.reshape(self._n_parties, -1) for part in parts], axis=1)
        self.n_words += flat.shape[1]
        self._hand_out(flat)
        return parts
