"""Integers as few odd signed digits, and the choice of their width.

The width-w non-adjacent form writes k as a sum of digit·2^position, each digit odd and under 2^(w-1) in
magnitude, at most one in w consecutive positions: one digit for w + 1 bits on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import AnyArray, IntArray

WORD_LIMIT = 1 << 62  # under this magnitude the recoding cannot overflow int64

# What a step costs, in products of two full-size residues modulo n² (measured at 2048 bits).
INSERT_COST, SHIFT_COST, SPLIT_COST = 0.57, 1.3, 2.3
MAX_WIDTH = 12
MAX_LEVELS = 64  # levels tried beyond the fewest that the table's size allows
MAX_TABLE = 1 << 15  # shifted ciphertexts that a table may hold, in each sign: some 75 MB at 2048 bits


class Digits(NamedTuple):
    """The nonzero digits of a matrix at one bit position."""

    position: int
    rows: IntArray
    columns: IntArray
    values: IntArray


def as_word_matrix(matrix: AnyArray) -> AnyArray:
    """int64 where every entry is small enough to be recoded in a machine word, else Python integers."""
    if matrix.size and (matrix.max() >= WORD_LIMIT or matrix.min() <= -WORD_LIMIT):
        return matrix.astype(object)
    return matrix.astype(np.int64)


def signed_digits(matrix: AnyArray, width: int) -> Iterator[Digits]:
    rest = matrix
    base, half = 1 << width, 1 << (width - 1)
    position = 0
    while bool(rest.any()):
        odd: npt.NDArray[np.bool_] = (rest & 1).astype(bool)
        residue = rest & (base - 1)
        digit = np.where(odd, np.where(residue >= half, residue - base, residue), 0)
        rows, columns = np.nonzero(odd)
        if len(rows):
            yield Digits(position, rows, columns, digit[rows, columns].astype(np.int64))
        rest = (rest - digit) >> 1
        position += 1


@dataclass(frozen=True)
class Plan:
    """How to evaluate a product of powers.

    A digit at bit position p is put in the buckets of level p // n_shifts, as the ciphertext raised to
    2^(p mod n_shifts). Those shifted ciphertexts are shared by all rows; levels cost every row buckets.
    """

    width: int
    n_shifts: int
    n_levels: int

    @property
    def n_buckets(self) -> int:
        return 1 << (self.width - 2)  # odd digits 1, 3, ... under 2^(width-1)


def choose_plan(n_rows: int, n_columns: int, bits: int) -> Plan:
    """The cheapest plan for scalars of ``bits`` bits, by counting modular products."""
    n_positions = bits + 1  # the signed form may be a digit longer
    fewest = max(1, -(-n_positions * n_columns // MAX_TABLE))
    plans = (
        Plan(width, -(-n_positions // levels), levels)
        for levels in range(fewest, min(n_positions, fewest + MAX_LEVELS) + 1)
        for width in range(2, MAX_WIDTH + 1)
    )
    return min(plans, key=lambda plan: _cost(plan, n_rows, n_columns, bits))


def _cost(plan: Plan, n_rows: int, n_columns: int, bits: int) -> float:
    inserts = n_columns * bits / (plan.width + 1) * INSERT_COST
    buckets = plan.n_levels * 2 * plan.n_buckets
    squarings = plan.n_shifts * (plan.n_levels - 1)
    table = n_columns * (SPLIT_COST + (plan.n_shifts - 1) * SHIFT_COST)
    return n_rows * (inserts + buckets + squarings) + table
