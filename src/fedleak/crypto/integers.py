"""Integers on their way into a cipher: any integer type becomes Python's, and the range is checked."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import CryptoError, PlaintextRangeError

Integers = Sequence[int] | IntArray | npt.NDArray[np.object_]
IntegerMatrix = IntArray | npt.NDArray[np.object_]


def as_integers(values: Integers) -> list[int]:
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu":
            flat: list[int] = values.ravel().tolist()
            return flat
        values = values.ravel().tolist()
    try:
        return [index(value) for value in values]
    except TypeError as wrong:
        raise TypeError(f"values must be integers; got {wrong}. Encode floats with fixed_point.encode") from None


def as_matrix(matrix: AnyArray, modulus: int) -> IntegerMatrix:
    """A matrix of scalars: int64, or Python integers under half the modulus."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuO":
        raise CryptoError(f"matrix must be two-dimensional and of integers; got {matrix.dtype} {matrix.shape}")
    if matrix.dtype.kind == "O" or matrix.dtype == np.uint64:
        exact = np.empty(matrix.shape, dtype=object)
        exact.ravel()[:] = check_signed("scalars", as_integers(matrix), modulus // 2)
        return exact
    return matrix.astype(np.int64)


def check_signed(what: str, values: list[int], bound: int) -> list[int]:
    for value in values:
        if not -bound < value < bound:
            raise PlaintextRangeError(
                f"{what} must be under a bound of {bound.bit_length()} bits in magnitude; "
                f"got one of {value.bit_length()} bits. Use a longer key or fewer fraction bits"
            )
    return values


def check_residues(values: list[int], modulus: int) -> list[int]:
    for value in values:
        if not 0 <= value < modulus:
            raise PlaintextRangeError(
                f"residues must be in [0, n) for a modulus n of {modulus.bit_length()} bits; "
                f"got one of {value.bit_length()} bits{' below zero' if value < 0 else ''}"
            )
    return values
