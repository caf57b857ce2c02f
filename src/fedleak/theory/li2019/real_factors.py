"""Theorem 2: real symmetric factors of γ are not unique. And why that protects less than it seems.

The count is right: n symmetric d × d matrices have n d(d + 1)/2 entries, γ gives d² equations. ``other_factors``
constructs a whole family. But an attacker is not after the single α_i: their sum is nearly fixed (members of the
family near the true factors differ in Σα_i by second-order terms only), and Σα_i has integer entries, of which at most
one set is within 1/2 of an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import FloatArray


def n_unknowns(n_columns: int, n_batches: int) -> int:
    return n_batches * n_columns * (n_columns + 1) // 2


def n_equations(n_columns: int) -> int:
    return n_columns**2


def freedom(n_columns: int, n_batches: int) -> int:
    """Dimension of the family of real solutions: at least d for two batches, growing by d(d + 1)/2 a batch."""
    return n_unknowns(n_columns, n_batches) - n_equations(n_columns)


def product_of(alphas: Sequence[FloatArray], step: float) -> FloatArray:
    """∏ (I − s α_i), later factors left."""
    result = np.eye(len(alphas[0]))
    for alpha in alphas:
        result = (np.eye(len(alpha)) - step * alpha) @ result
    return result


def other_factors(alphas: Sequence[FloatArray], step: float, scale: float) -> list[FloatArray]:
    """Other real symmetric α_1, α_2 with the same product as the given two, one pair for every ``scale``.

    With A = I − sα_1, B = I − sα_2 and T = I + scale·AB, the product BA = (BT)(T⁻¹A), and both new factors are
    symmetric: BT = B + scale·BAB, T⁻¹A = (A⁻¹ + scale·B)⁻¹.
    """
    first, second = (np.eye(len(alpha)) - step * alpha for alpha in alphas)
    new_second = second + scale * second @ first @ second
    new_first = np.linalg.inv(np.linalg.inv(first) + scale * second)
    identity = np.eye(len(first))
    return [(identity - new_first) / step, (identity - new_second) / step]
