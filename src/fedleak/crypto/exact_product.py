"""Exact products of integer matrices and vectors of long integers, at the speed of floating-point BLAS.

Both sides are cut into limbs so short that every sum of limb products stays under 2^53, where float64 is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.crypto.integers import IntegerMatrix
from fedleak.crypto.signed_digits import as_word_matrix

VECTOR_LIMB_BITS = 16
FLOAT_BITS = 53  # integers below 2^53 are exact in float64
BLOCK_COLUMNS = 8192  # leaves the matrix limbs of 53 - 16 - 14 = 23 bits


def exact_products(matrix: IntegerMatrix, vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    """matrix @ vector over the integers for each vector, for signed entries of any length."""
    totals = [[0] * len(matrix) for _ in vectors]
    for start in range(0, matrix.shape[1], BLOCK_COLUMNS):
        block = as_word_matrix(matrix[:, start : start + BLOCK_COLUMNS])
        pieces = [vector[start : start + BLOCK_COLUMNS] for vector in vectors]
        partials = _object_products(block, pieces) if block.dtype == object else _limb_products(block, pieces)
        totals = [_sum(total, partial) for total, partial in zip(totals, partials, strict=True)]
    return totals


def _sum(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _object_products(matrix: npt.NDArray[np.object_], vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    rows = matrix.tolist()
    return [[sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows] for vector in vectors]


def _limb_products(matrix: IntArray, vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    # columns · 2^(matrix limb) · 2^(vector limb) <= 2^53, and so is every partial sum on the way
    limb_bits = FLOAT_BITS - VECTOR_LIMB_BITS - matrix.shape[1].bit_length()
    levels = _matrix_limbs(matrix, limb_bits)
    products = []
    for vector in vectors:
        vector_limbs = _vector_limbs(vector)
        total = [0] * len(matrix)
        for level, limbs in enumerate(levels):
            partial = _carry((limbs @ vector_limbs).astype(np.int64))
            total = _sum(total, [part << (level * limb_bits) for part in partial])
        products.append(total)
    return products


def _matrix_limbs(matrix: IntArray, limb_bits: int) -> list[FloatArray]:
    sign, rest = np.sign(matrix), np.abs(matrix)
    limbs = []
    while rest.any():
        limbs.append((sign * (rest & ((1 << limb_bits) - 1))).astype(np.float64))
        rest = rest >> limb_bits
    return limbs


def _vector_limbs(vector: Sequence[int]) -> FloatArray:
    """(entries, limbs): the magnitude of each entry, lowest limb first, every limb with the entry's sign."""
    longest = max(abs(value).bit_length() for value in vector)
    n_limbs = max(1, -(-longest // VECTOR_LIMB_BITS))
    packed = b"".join([abs(value).to_bytes(2 * n_limbs, "little") for value in vector])
    limbs = np.frombuffer(packed, dtype="<u2").reshape(len(vector), n_limbs).astype(np.float64)
    limbs *= np.array([-1.0 if value < 0 else 1.0 for value in vector])[:, None]
    return limbs


def _carry(sums: IntArray) -> list[int]:
    """Rows of signed sums, each worth 2^16 times the one before, as integers."""
    n_limbs = sums.shape[1]
    digits = np.empty(sums.shape, dtype="<u2")
    carry = np.zeros(len(sums), dtype=np.int64)
    for limb in range(n_limbs):
        carry += sums[:, limb]
        digits[:, limb] = carry & 0xFFFF
        carry >>= VECTOR_LIMB_BITS
    top = VECTOR_LIMB_BITS * n_limbs
    return [
        int.from_bytes(row.tobytes(), "little") + (high << top)
        for row, high in zip(digits, carry.tolist(), strict=True)
    ]
