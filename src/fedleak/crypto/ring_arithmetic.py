"""Fixed-point arithmetic modulo 2^64, as one program for those who share the numbers and for one who knows them.

A value has a leading axis of holders, whose words sum to the number modulo 2^64. Sums, differences and the products
with public integers are each holder's own; what else there is, a ring does: ``SharedRing`` between parties, and here
the ideal one, with a single holder. Every operation has one integer result, so that both give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import IntArray
from fedleak.core.errors import PlaintextRangeError

Words = npt.NDArray[np.uint64]
WORD_BITS = 64
VALUE_BITS = 61  # numbers stay under 2^61 in magnitude: sums of two, and what an operation adds, stay under 2^62


def word(number: int) -> np.uint64:
    return np.uint64(number % (1 << WORD_BITS))


def words(integers: IntArray) -> Words:
    return np.asarray(integers, dtype=np.int64).view(np.uint64)


def signed(values: Words) -> IntArray:
    return np.ascontiguousarray(values).view(np.int64)


def plus(values: Words, public: Words | np.uint64) -> Words:
    """A public number is added by the first holder alone."""
    found = values.copy()
    found[0] += public
    return found


class RingArithmetic(ABC):
    """On a table of rows that stands still, and on values of any shape."""

    @abstractmethod
    def rows_times(self, rows: IntArray, weights: Words) -> Words:
        """These rows of the table times a vector, a value a row."""

    @abstractmethod
    def times_rows(self, rows: IntArray, factors: Words) -> Words:
        """The sum of these rows, each times its factor: a value a column."""

    @abstractmethod
    def multiply(self, left: Words, right: Words) -> Words:
        """Entry by entry."""

    @abstractmethod
    def scaled(self, values: Words, factor: int) -> Words:
        """Times a public integer."""

    @abstractmethod
    def shift(self, values: Words, bits: int) -> Words:
        """floor(value / 2^bits + 1/2): rounded to the nearest, ties up."""

    @abstractmethod
    def clip(self, values: Words, edge: int) -> Words:
        """The nearest number between -edge and edge."""


class IdealRing(RingArithmetic):
    """One holder who knows every number: what parties that share them must arrive at, bit for bit.

    It raises where a number leaves the range in which words modulo 2^64 still tell it.
    """

    def __init__(self, table: Words) -> None:
        self._table = table

    def rows_times(self, rows: IntArray, weights: Words) -> Words:
        return _product(self._table[:, rows], weights)

    def times_rows(self, rows: IntArray, factors: Words) -> Words:
        return _product(self._table[:, rows].transpose(0, 2, 1), factors)

    def multiply(self, left: Words, right: Words) -> Words:
        check_range(sizes(left) * sizes(right))
        return left * right

    def scaled(self, values: Words, factor: int) -> Words:
        check_range(sizes(values) * abs(factor))
        return values * word(factor)

    def shift(self, values: Words, bits: int) -> Words:
        check_range(sizes(values))
        return words((signed(values) + (1 << (bits - 1))) >> bits)

    def clip(self, values: Words, edge: int) -> Words:
        check_range(sizes(values))
        return words(np.clip(signed(values), -edge, edge))


def _product(matrix: Words, vector: Words) -> Words:
    # Sums of magnitudes bound the sum and every part of it, whatever the order.
    check_range(sizes(matrix) @ sizes(vector)[..., None])
    return (matrix @ vector[..., None])[..., 0]


def sizes(values: Words) -> npt.NDArray[np.float64]:
    return np.abs(signed(values).astype(np.float64))


def check_range(magnitudes: npt.NDArray[np.float64]) -> None:
    """That words modulo 2^64 still tell the numbers."""
    largest = float(np.max(magnitudes, initial=0.0))
    if not largest < 2.0**VALUE_BITS:
        raise PlaintextRangeError(
            f"numbers on shares modulo 2^64 must stay under 2^{VALUE_BITS} in fixed point; got one of about "
            f"2^{np.log2(largest):.0f}. Scale the data, use fewer share_fraction_bits or a smaller learning_rate"
        )
