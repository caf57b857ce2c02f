"""Units of Z_{n²} in a form that multiplies at half the price, and powers of a fixed one.

Every unit is u = a·(1 + λn) mod n² with 0 < a < n. The second factors multiply by adding their λ, since
n² = 0, so a long product needs only the half-size a's: acc·a mod n² costs about 55 % of a product of two
full-size residues. The λ's are summed as integers and applied once, at the end (``UnitGroup.join``).
Powers of one base come from a table of base^(digit·2^(window·i)): one product a digit and no squaring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fedleak.core.errors import CryptoError
from fedleak.crypto.bigint import Mpz, invert, powmod

Factor = tuple[Mpz, Mpz]  # (a, λ), standing for a·(1 + λn); a plain tuple, because millions are made


class Unit(NamedTuple):
    """u = a·(1 + λn); the inverse of a modulo n travels along, so that products need no inversion."""

    a: Mpz
    a_inverse: Mpz
    slope: Mpz  # λ


class UnitGroup:
    """The units of Z_{n²}."""

    def __init__(self, n: Mpz) -> None:
        self.n = n
        self.n_squared = n * n

    def split(self, value: Mpz) -> Unit:
        quotient, a = divmod(value, self.n)
        try:
            a_inverse = invert(a, self.n)
        except ZeroDivisionError:
            raise CryptoError("a ciphertext must be a unit modulo n²; got one that shares a factor with n") from None
        # a + quotient·n = a·(1 + (quotient/a)·n)
        return Unit(a, a_inverse, quotient * a_inverse % self.n)

    def product(self, x: Unit, y: Unit) -> Unit:
        carry, a = divmod(x.a * y.a, self.n)
        a_inverse = x.a_inverse * y.a_inverse % self.n
        # x.a·y.a = a + carry·n = a·(1 + (carry/a)·n): the carry joins the slopes
        return Unit(a, a_inverse, (x.slope + y.slope + carry * a_inverse) % self.n)

    def factor(self, unit: Unit) -> Factor:
        return unit.a, unit.slope

    def inverse_factor(self, unit: Unit) -> Factor:
        # a·a_inverse = 1 + carry·n, hence 1/a = a_inverse·(1 - carry·n)
        carry = unit.a * unit.a_inverse // self.n
        return unit.a_inverse, self.n - (carry + unit.slope) % self.n

    def power(self, value: Mpz, exponent: int) -> Mpz:
        """A negative exponent inverts: n - k in its place would be an exponent of 2048 bits."""
        try:
            return powmod(value, exponent, self.n_squared)
        except (ZeroDivisionError, ValueError):
            raise CryptoError("a ciphertext must be a unit modulo n²; got one that shares a factor with n") from None

    def join(self, product: Mpz, slope: Mpz | int) -> Mpz:
        """product·(1 + slope·n) mod n²."""
        return product * (1 + slope % self.n * self.n) % self.n_squared


WIDE_WINDOW_BITS, NARROW_WINDOW_BITS = 8, 4
WIDE_UP_TO_BITS = 3072  # beyond this size of n a table of wide windows would take more than 100 MB


class FixedBaseTable:
    """Powers of ``base`` for exponents of ``exponent_bytes`` bytes (38 MB and 0.25 s at 2048 bits)."""

    def __init__(self, group: UnitGroup, base: Mpz, exponent_bytes: int) -> None:
        self._group = group
        self._exponent_bytes = exponent_bytes
        self._window_bits = WIDE_WINDOW_BITS if group.n.bit_length() <= WIDE_UP_TO_BITS else NARROW_WINDOW_BITS
        self._rows = self._build(group.split(base), 8 * exponent_bytes // self._window_bits)

    def _build(self, step: Unit, n_windows: int) -> list[list[Factor]]:
        product, factor = self._group.product, self._group.factor
        rows: list[list[Factor]] = []
        for _ in range(n_windows):
            row: list[Factor] = [(Mpz(1), Mpz(0))]
            power = step
            for _ in range((1 << self._window_bits) - 1):
                row.append(factor(power))
                power = product(power, step)
            rows.append(row)
            step = power  # step^(2^window)
        return rows

    def power(self, exponent: bytes) -> Factor:
        """base^exponent (little-endian) as (product, slope): ``UnitGroup.join`` makes it one residue."""
        if len(exponent) != self._exponent_bytes:
            raise ValueError(f"exponent must have {self._exponent_bytes} bytes; got {len(exponent)}")
        n_squared = self._group.n_squared
        product, slope = Mpz(1), Mpz(0)
        for row, digit in zip(self._rows, self._digits(exponent), strict=True):
            a, a_slope = row[digit]
            product = product * a % n_squared
            slope += a_slope
        return product, slope

    def _digits(self, exponent: bytes) -> Sequence[int]:
        if self._window_bits == WIDE_WINDOW_BITS:
            return exponent
        return [digit for byte in exponent for digit in (byte & 15, byte >> 4)]
