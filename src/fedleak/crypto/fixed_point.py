"""Numbers on their way into a cipher and back.

Real numbers are integers times 2^-fraction_bits; a product has the fraction bits of both factors. Any integer type
becomes Python's, and ranges are checked here, so that nothing wraps around a modulus unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.errors import CryptoError, PlaintextRangeError

ENCODED_BITS = 62  # encodings stay under 2^62 in magnitude: sums and signed digits of them fit a machine word
MARGIN_BITS = 128  # a uniform residue passes for a number in range with a probability of about 2^-127


def encode(values: FloatArray, fraction_bits: int) -> IntArray:
    """Round to the nearest multiple of 2^-fraction_bits, ties to even."""
    with np.errstate(over="ignore"):  # an overflow is infinite, and caught below
        rounded = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), _checked_bits(fraction_bits)))
    if not np.all(np.abs(rounded) < 2.0**ENCODED_BITS):  # false for NaN too
        worst = float(np.max(np.abs(values), initial=0.0))
        raise PlaintextRangeError(
            f"values must be finite and under 2^{ENCODED_BITS - fraction_bits} in magnitude at {fraction_bits} "
            f"fraction bits; got {worst:g}. Scale the data or use fewer fraction bits"
        )
    return rounded.astype(np.int64)


def decode(residues: Integers, fraction_bits: int, modulus: int, *, max_bits: int | None = None) -> FloatArray:
    """The signed numbers that residues in [0, modulus) stand for, correctly rounded to float64.

    Anything of 2^max_bits or more is no result of the arithmetic: a mask was not removed, or the wrong one was, or a
    sum overflowed. By default ``max_bits`` leaves 128 bits below the modulus.
    """
    limit_bits = modulus.bit_length() - MARGIN_BITS if max_bits is None else max_bits
    if not 0 < limit_bits < modulus.bit_length() - 1:
        raise ValueError(f"max_bits must be between 1 and {modulus.bit_length() - 2}; got {limit_bits}")
    limit, unit = 1 << limit_bits, 1 << _checked_bits(fraction_bits)
    signed = [centred(residue, modulus) for residue in check_residues(as_integers(residues), modulus)]
    if any(abs(value) >= limit for value in signed):
        raise PlaintextRangeError(
            f"decoded integers must be under 2^{limit_bits} in magnitude; "
            f"got one of {max(abs(value) for value in signed).bit_length()} bits: a wrong mask, or an overflow"
        )
    try:
        # Python divides integers with one correct rounding, however long they are
        return np.array([value / unit for value in signed], dtype=np.float64)
    except OverflowError:
        raise PlaintextRangeError("decoded numbers must fit float64; got one over 1.8e308") from None


def centred(residue: int, modulus: int) -> int:
    """The representative of smallest magnitude."""
    return residue - modulus if residue > modulus // 2 else residue


def _checked_bits(fraction_bits: int) -> int:
    if fraction_bits < 0:
        raise PlaintextRangeError(f"fraction_bits must not be negative; got {fraction_bits}")
    return fraction_bits


WORD_LIMIT = 1 << 62  # under this magnitude the recoding cannot overflow int64

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


def as_word_matrix(matrix: AnyArray) -> AnyArray:
    """int64 where every entry is small enough to be recoded in a machine word, else Python integers."""
    if matrix.size and (matrix.max() >= WORD_LIMIT or matrix.min() <= -WORD_LIMIT):
        return matrix.astype(object)
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
