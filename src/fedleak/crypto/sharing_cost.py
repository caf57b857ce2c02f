"""What computing on shares takes, without doing it: the same program on a ring that counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.crypto.dealt_randomness import LEVELS, N_ANDS
from fedleak.crypto.ring_arithmetic import RingArithmetic, Words

WORD_BYTES = 8


@dataclass(frozen=True)
class SharingCost:
    """Rounds, bytes that a party sends to each other one, and words that the dealer hands to each."""

    n_rounds: int = 0
    n_bytes: int = 0
    n_words: int = 0

    def plus(self, other: SharingCost, times: int = 1) -> SharingCost:
        return SharingCost(
            self.n_rounds + times * other.n_rounds,
            self.n_bytes + times * other.n_bytes,
            self.n_words + times * other.n_words,
        )


def masked_table(n_rows: int, n_columns: int) -> SharingCost:
    """It is opened once, under its mask."""
    return SharingCost(1, WORD_BYTES * n_rows * n_columns, n_rows * n_columns)


def of_epochs(step: Callable[[int], SharingCost], n_rows: int, batch_size: int, epochs: int) -> SharingCost:
    """Of all batches, the last of an epoch smaller where rows are left; nothing of their size is laid out.

    Every operation takes so much, and so much a row: steps of one and of two rows tell both.
    """
    one, two = step(1), step(2)
    n_full, rest = divmod(n_rows, batch_size)
    found = SharingCost()
    for size, times in ((batch_size, epochs * n_full), (rest, epochs * bool(rest))):
        found = found.plus(one.plus(two.plus(one, -1), size - 1), times)
    return found


class CountingRing(RingArithmetic):
    """Adds up what operations take; values are zeros."""

    def __init__(self, n_columns: int) -> None:
        self._n_columns = n_columns
        self.cost = SharingCost()

    def rows_times(self, rows: IntArray, weights: Words) -> Words:
        self._add(1, WORD_BYTES * weights.size, len(rows) + weights.size)
        return _zeros(len(rows))

    def times_rows(self, rows: IntArray, factors: Words) -> Words:
        self._add(1, WORD_BYTES * len(rows), len(rows) + self._n_columns)
        return _zeros(self._n_columns)

    def multiply(self, left: Words, right: Words) -> Words:
        self._add(1, WORD_BYTES * (left.size + right.size), 3 * left.size)
        return left

    def scaled(self, values: Words, factor: int) -> Words:
        return values

    def shift(self, values: Words, bits: int) -> Words:
        self._masked_number(values.size)
        self._flags(2 * values.size)
        return values

    def clip(self, values: Words, edge: int) -> Words:
        self._masked_number(2 * values.size)
        self._flags(2 * values.size)
        self._add(1, 4 * WORD_BYTES * values.size, 6 * values.size)
        return values

    def _masked_number(self, size: int) -> None:
        self._add(1 + LEVELS, WORD_BYTES * (1 + 2 * N_ANDS) * size, (3 + 3 * N_ANDS) * size)

    def _flags(self, size: int) -> None:
        self._add(1, size, 2 * size)

    def _add(self, n_rounds: int, n_bytes: int, n_words: int) -> None:
        self.cost = self.cost.plus(SharingCost(n_rounds, n_bytes, n_words))


def _zeros(size: int) -> Words:
    return np.zeros((1, size), dtype=np.uint64)
