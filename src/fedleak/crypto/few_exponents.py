"""A product of powers with few different exponents: ciphertexts of one exponent are multiplied, then raised once.

The commonest exponent b is a base for all: the product of c^k is (product of all c)^b times that of c^(k - b) where k
differs from b, so that a flag that is set in one row of twenty costs a twentieth of the products. Columns of flags and
categories are such, scaled or not. The result is the same unit of Z_{n²}, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.crypto.bigint import Mpz
from fedleak.crypto.unit_group import UnitGroup

# In products of two full-size residues modulo n² (measured at 2048 bits).
BIT_COST, INVERSION_COST = 1.15, 5.0
MOST_EXPONENTS = 64  # more of them never pay


@dataclass(frozen=True)
class Grouping:
    """Which ciphertexts are raised to which power beyond the ``base`` that all are raised to."""

    base: int
    places: Mapping[int, IntArray]


def group_row(exponents: AnyArray, worth: float) -> Grouping | None:
    """None where it would cost more than ``worth``, in products."""
    values, group_of, counts = np.unique(exponents, return_inverse=True, return_counts=True)
    if len(values) > MOST_EXPONENTS:
        return None
    candidates = {int(values[counts.argmax()]), 0}
    costs = {base: _cost(base, values, counts) for base in candidates}
    base = min(costs, key=costs.__getitem__)
    if costs[base] >= worth:
        return None
    group_of = group_of.reshape(-1)
    return Grouping(
        base, {int(v) - base: np.flatnonzero(group_of == place) for place, v in enumerate(values) if v != base}
    )


def _cost(base: int, values: AnyArray, counts: IntArray) -> float:
    others = [(int(value) - base, int(count)) for value, count in zip(values, counts, strict=True) if value != base]
    return _cost_of_power(base) + sum(count + _cost_of_power(power) for power, count in others)


def _cost_of_power(power: int) -> float:
    return (INVERSION_COST if power < 0 else 0.0) + (BIT_COST * abs(power).bit_length() if abs(power) > 1 else 0.0)


def grouped_product(group: UnitGroup, grouping: Grouping, ciphertexts: Sequence[Mpz], product_of_all: Mpz) -> Mpz:
    n_squared = group.n_squared
    result = group.power(product_of_all, grouping.base)
    for power, places in grouping.places.items():
        together = Mpz(1)
        for place in places.tolist():
            together = together * ciphertexts[place] % n_squared
        result = result * group.power(together, power) % n_squared
    return result
