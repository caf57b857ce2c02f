"""Real numbers as integers times 2^-fraction_bits. A product has the fraction bits of both factors."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import PlaintextRangeError
from fedleak.crypto.integers import Integers, as_integers, check_residues

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
