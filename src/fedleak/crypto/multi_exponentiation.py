"""Products of powers, many at once: a matrix of scalars times a vector of ciphertexts.

A row of few different scalars is grouped by them (``few_exponents``). All others go through Pippenger's buckets:
ciphertexts that meet the same digit are multiplied together first, and each bucket is raised to its digit once. Digits
are signed and odd: the width-w non-adjacent form writes k as a sum of digit·2^position, each digit under 2^(w-1) in
magnitude, at most one in w consecutive positions, one for w + 1 bits on average. The ciphertexts are half-size
(``unit_group``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.crypto.bigint import Mpz, powmod
from fedleak.crypto.few_exponents import group_row, grouped_product
from fedleak.crypto.fixed_point import as_word_matrix
from fedleak.crypto.unit_group import Factor, Unit, UnitGroup

BLOCK_COLUMNS = 1024  # bounds the table of shifted ciphertexts
BLOCK_ROWS = 32  # bounds the digits held at once


def matrix_product(group: UnitGroup, matrix: AnyArray, ciphertexts: Sequence[Mpz]) -> list[Mpz]:
    """For each row of the matrix, the product of ciphertext^scalar modulo n²."""
    results = [Mpz(1)] * len(matrix)
    for start in range(0, matrix.shape[1], BLOCK_COLUMNS):
        block = as_word_matrix(matrix[:, start : start + BLOCK_COLUMNS])
        partial = _block_product(group, block, ciphertexts[start : start + BLOCK_COLUMNS])
        results = [result * part % group.n_squared for result, part in zip(results, partial, strict=True)]
    return results


def _block_product(group: UnitGroup, matrix: AnyArray, ciphertexts: Sequence[Mpz]) -> list[Mpz]:
    if not len(matrix):
        return []
    bits = max(int(matrix.max()), -int(matrix.min())).bit_length()
    plan = choose_plan(len(matrix), len(ciphertexts), bits)
    groupings = [group_row(row, _products_of_row(plan, len(ciphertexts), bits)) for row in matrix]
    product_of_all = _product(group, ciphertexts) if any(groupings) else Mpz(1)
    rest = [place for place, grouping in enumerate(groupings) if grouping is None]
    of_digits = iter(digit_product(group, matrix[rest], ciphertexts) if rest else ())
    return [
        next(of_digits) if grouping is None else grouped_product(group, grouping, ciphertexts, product_of_all)
        for grouping in groupings
    ]


def _product(group: UnitGroup, ciphertexts: Sequence[Mpz]) -> Mpz:
    result = Mpz(1)
    for ciphertext in ciphertexts:
        result = result * ciphertext % group.n_squared
    group.split(result)  # refuses it where one of them is no unit
    return result


def digit_product(group: UnitGroup, matrix: AnyArray, ciphertexts: Sequence[Mpz]) -> list[Mpz]:
    """By buckets, whatever the scalars are."""
    bits = max(int(matrix.max()), -int(matrix.min())).bit_length()
    plan = choose_plan(len(matrix), len(ciphertexts), bits)
    factors = _shifted_factors(group, [group.split(value) for value in ciphertexts], plan.n_shifts)
    return [
        _row_product(group, plan, factors, factor_of, bucket_of)
        for start in range(0, len(matrix), BLOCK_ROWS)
        for factor_of, bucket_of in _assignments(matrix[start : start + BLOCK_ROWS], plan)
    ]


def _shifted_factors(group: UnitGroup, units: Sequence[Unit], n_shifts: int) -> list[Factor]:
    """ciphertext^(±2^shift) at index (2·shift + (1 if negative else 0))·n_columns + column."""
    factors: list[Factor] = []
    for shift in range(n_shifts):
        if shift:
            units = [group.product(unit, unit) for unit in units]
        factors.extend(group.factor(unit) for unit in units)
        factors.extend(group.inverse_factor(unit) for unit in units)
    return factors


def _assignments(matrix: AnyArray, plan: Plan) -> Iterator[tuple[IntArray, IntArray]]:
    """For each row: which factor goes into which bucket."""
    n_columns = matrix.shape[1]
    none = np.empty(0, dtype=np.int64)
    rows, factors, buckets = [none], [none], [none]
    for digits in signed_digits(matrix, plan.width):
        level, shift = divmod(digits.position, plan.n_shifts)
        rows.append(digits.rows)
        factors.append((2 * shift + (digits.values < 0)) * n_columns + digits.columns)
        buckets.append(level * plan.n_buckets + (np.abs(digits.values) >> 1))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows, kind="stable")
    ends = np.searchsorted(all_rows[order], np.arange(1, len(matrix)))
    yield from zip(
        np.split(np.concatenate(factors)[order], ends), np.split(np.concatenate(buckets)[order], ends), strict=True
    )


def _row_product(
    group: UnitGroup, plan: Plan, factors: Sequence[Factor], factor_of: IntArray, bucket_of: IntArray
) -> Mpz:
    n_squared = group.n_squared
    products = [Mpz(1)] * (plan.n_levels * plan.n_buckets)
    slopes = [Mpz(0)] * len(products)
    for factor, bucket in zip(factor_of.tolist(), bucket_of.tolist(), strict=True):
        a, slope = factors[factor]
        products[bucket] = products[bucket] * a % n_squared
        slopes[bucket] += slope
    result, total_slope = Mpz(1), Mpz(0)
    for start in range(len(products) - plan.n_buckets, -1, -plan.n_buckets):  # the highest level first
        level = slice(start, start + plan.n_buckets)
        raised = powmod(result, 1 << plan.n_shifts, n_squared)
        result = raised * _weighted_product(group, products[level]) % n_squared
        total_slope = (total_slope << plan.n_shifts) + _weighted_sum(slopes[level])
    return group.join(result, total_slope)


def _weighted_product(group: UnitGroup, buckets: Sequence[Mpz]) -> Mpz:
    """The product of bucket_i^(2i+1), in two products a bucket: a product of suffix products."""
    n_squared = group.n_squared
    suffix, weighted = Mpz(1), Mpz(1)
    for bucket in reversed(buckets[1:]):
        suffix = suffix * bucket % n_squared
        weighted = weighted * suffix % n_squared
    return weighted * weighted % n_squared * (suffix * buckets[0] % n_squared) % n_squared


def _weighted_sum(slopes: Sequence[Mpz]) -> Mpz:
    total = Mpz(0)
    for index, slope in enumerate(slopes):
        total += (2 * index + 1) * slope
    return total


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


@lru_cache(maxsize=256)  # hundreds of plans are priced, and every round has the same shape
def choose_plan(n_rows: int, n_columns: int, bits: int) -> Plan:
    """The cheapest plan for scalars of ``bits`` bits, by counting modular products."""
    n_positions = bits + 1  # the signed form may be a digit longer
    fewest = max(1, -(-n_positions * n_columns // MAX_TABLE))
    plans = (
        Plan(width, -(-n_positions // levels), levels)
        for levels in range(fewest, min(n_positions, fewest + MAX_LEVELS) + 1)
        for width in range(2, MAX_WIDTH + 1)
    )
    return min(plans, key=lambda plan: _products_of_plan(plan, n_rows, n_columns, bits))


def _products_of_plan(plan: Plan, n_rows: int, n_columns: int, bits: int) -> float:
    table = n_columns * (SPLIT_COST + (plan.n_shifts - 1) * SHIFT_COST)
    return n_rows * _products_of_row(plan, n_columns, bits) + table


def _products_of_row(plan: Plan, n_columns: int, bits: int) -> float:
    inserts = n_columns * bits / (plan.width + 1) * INSERT_COST
    buckets = plan.n_levels * 2 * plan.n_buckets
    squarings = plan.n_shifts * (plan.n_levels - 1)
    return inserts + buckets + squarings
