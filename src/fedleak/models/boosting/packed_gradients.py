"""Gradients as integers to encrypt, and sums of them as they come out of decryption.

g and h of a row share one plaintext, g·2^h_bits + h; sums of many candidates share one too, in slots that are wide
enough for the sum over all rows. Apart (``packed`` False), each number has a plaintext of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, frexp

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import PlaintextRangeError
from fedleak.crypto.fixed_point import centred
from fedleak.crypto.packing import capacity, unpack
from fedleak.models.boosting.growth import Gradients, Sums
from fedleak.models.boosting.losses import LARGEST_HESSIAN, Objective

WORD_BITS = 62  # sums stay in machine words


@dataclass(frozen=True)
class Layout:
    """Bits of a sum of gradients, with its sign, and of a sum of hessians."""

    g_bits: int
    h_bits: int
    packed: bool = True

    @property
    def slot_bits(self) -> int:
        """Of one candidate's sums; 0 where nothing is packed."""
        return self.g_bits + self.h_bits if self.packed else 0


def layout_for(n_rows: int, fraction_bits: int, g_bound: float, h_bound: float, *, packed: bool) -> Layout:
    """Wide enough for the sum of any rows."""
    g_bits, h_bits = (
        (n_rows * ceil(bound * (1 << fraction_bits))).bit_length() + signed
        for bound, signed in ((g_bound, 1), (h_bound, 0))
    )
    if max(g_bits, h_bits) > WORD_BITS:
        raise PlaintextRangeError(
            f"sums of gradients must fit {WORD_BITS} bits; {n_rows} rows of up to {g_bound:g} at {fraction_bits} "
            "fraction bits take more. Scale the labels or use fewer fraction bits"
        )
    return Layout(g_bits, h_bits, packed)


def bounds(objective: Objective, gradients: Gradients, factor: float) -> tuple[float, float]:
    """Of |g| and h. Those of classes are public; of a regression the label holder tells a power of two."""
    h_bound = LARGEST_HESSIAN[objective] * factor
    if objective is not Objective.SQUARED:
        return factor, h_bound
    largest = float(np.abs(gradients.g).max(initial=1)) / 2.0**gradients.fraction_bits
    return 2.0 ** frexp(largest)[1], h_bound


@dataclass(frozen=True, eq=False)
class ToEncrypt:
    """What the label holder is about to encrypt: a number a row (g and h packed), or two."""

    values: tuple[list[int], ...]
    slot_bits: int


def plaintexts(gradients: Gradients, layout: Layout) -> ToEncrypt:
    g, h = gradients.g[gradients.sampled].tolist(), gradients.h[gradients.sampled].tolist()
    if sum(map(abs, g)) >= 1 << (layout.g_bits - 1) or sum(h) >= 1 << layout.h_bits or min(h, default=0) < 0:
        raise PlaintextRangeError(
            f"gradients must add up to less than {layout.g_bits - 1} bits and hessians, none below zero, to "
            f"{layout.h_bits}; got more: their sums could run into one another"
        )
    if not layout.packed:
        return ToEncrypt((g, h), 0)
    return ToEncrypt(([(x << layout.h_bits) + y for x, y in zip(g, h, strict=True)],), layout.slot_bits)


@dataclass(frozen=True, eq=False)
class Opened:
    """Decrypted residues of a partner's sums, for so many candidates in all."""

    residues: list[int]
    modulus: int
    n_sums: int
    layout: Layout


def sums_in(opened: Opened) -> Sums:
    """Exact; a slot that overflowed or an answer of another length is an error."""
    pairs = _packed_pairs(opened) if opened.layout.packed else _pairs_apart(opened)
    if len(pairs) != opened.n_sums:
        raise PlaintextRangeError(f"a partner must send sums of {opened.n_sums} candidates; got {len(pairs)}")
    g, h = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    layout = opened.layout
    if max(map(abs, g), default=0) >= 1 << (layout.g_bits - 1) or not 0 <= min(h, default=0) <= max(h, default=0) < (
        1 << layout.h_bits
    ):
        raise PlaintextRangeError("a partner's sums must lie within those of all rows; got one outside: an overflow")
    return Sums(_words(g), _words(h))


def _packed_pairs(opened: Opened) -> list[tuple[int, int]]:
    layout, left = opened.layout, opened.n_sums
    slots = capacity(opened.modulus.bit_length(), layout.slot_bits)
    found: list[tuple[int, int]] = []
    for residue in opened.residues:
        taken = min(slots, left)
        if taken < 1:
            raise PlaintextRangeError(f"a partner must send sums of {opened.n_sums} candidates; got more")
        values = unpack(residue, taken, layout.slot_bits, opened.modulus)
        found += [(value >> layout.h_bits, value & ((1 << layout.h_bits) - 1)) for value in values]
        left -= taken
    return found


def _pairs_apart(opened: Opened) -> list[tuple[int, int]]:
    """First all sums of gradients, then all of hessians."""
    values = [centred(residue, opened.modulus) for residue in opened.residues]
    half = len(values) // 2
    return list(zip(values[:half], values[half:], strict=True))


def _words(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)
