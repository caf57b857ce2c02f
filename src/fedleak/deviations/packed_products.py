"""Many products hidden in each ciphertext that the partner decrypts (Hu et al. 2022, algorithm 2).

Instead of its d features the party multiplies the partner's ciphertexts with u d random auxiliary ones, packs u
products into each ciphertext and masks them as always. The partner decrypts d uniform residues, as in an honest
round; where honest products are packed too, it opens fewer. The party unpacks u d equations in the batch's values and
solves them, in exact integers. It then computes the product that an honest round would have given it, so the training
goes on unchanged.

Slots are made for the largest value that the encoding allows, which no value exceeds. Only where a batch needs more
slots than that leaves are they cut shorter (the paper's iota); a value may then overflow, which is noticed, costs that
round, and is not risked again with that partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import PlaintextRangeError
from fedleak.core.payload import Scalar
from fedleak.core.whole.federation import setting
from fedleak.core.whole.hooks import Deviation, Hook, HookKind, LocalState
from fedleak.crypto import packing
from fedleak.crypto.fixed_point import ENCODED_BITS
from fedleak.crypto.masked_product import MaskedProduct, ProductInputs, UnmaskInputs, masked_product, unmask
from fedleak.crypto.masks import add_masks, uniform_residues
from fedleak.crypto.packing import bits_of_sum, capacity, pack_ciphertexts, unpack
from fedleak.protocols.linear import vocabulary as linear
from fedleak.theory.packed_equations import FEWEST_AUXILIARY_BITS, SCORE_BITS, SLOT_BITS

AUXILIARY_BITS = 9  # of a made-up feature, at most: more make no system more regular
SPARE_EQUATIONS = 8  # beyond the unknowns, where there is room: a wrong solution then fails them
MAX_REFINEMENTS = 40
MACHINE_WORD_BITS = 62


@dataclass(frozen=True, eq=False)
class Layout:
    """How a round's products are packed: ``auxiliary`` has a row an equation, a run of ``n_slots`` a ciphertext."""

    auxiliary: IntArray
    n_slots: int
    slot_bits: int


@dataclass(frozen=True, eq=False)
class _Pending:
    inputs: ProductInputs
    layout: Layout | None  # None: too few slots for this batch, so the round is honest


@dataclass(frozen=True)
class PackedProducts(Deviation):
    name = "packed-products"
    aliases = ("algorithm-2",)
    summary = "packs products with random auxiliary features into the ciphertexts that the partner decrypts"
    reference = Reference("hu2022", "algorithm 2")
    acts_at = frozenset({linear.MULTIPLY, linear.UNMASK})

    slot_bits: int = setting(
        SLOT_BITS, "length of one packed product (iota) where longer ones are too few", unit="bits"
    )
    score_bits: int = setting(
        SCORE_BITS, "bits before the binary point that a partner's value may have in such a product", unit="bits"
    )

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        behaviour = _Behaviour(self)
        return (
            Hook(linear.MULTIPLY, HookKind.COMPUTE, party, behaviour.multiply),
            Hook(linear.UNMASK, HookKind.COMPUTE, party, behaviour.unmask),
        )

    def layout(self, inputs: ProductInputs, rng: np.random.Generator, *, safe: bool = False) -> Layout | None:
        """As many slots as the batch needs; None where even all slots are too few (s > u d).

        ``safe`` rules out slots that a value could overflow.
        """
        if inputs.rows.shape[1] == 0:
            return None
        widest = _layout(inputs, self._value_bits(inputs, ENCODED_BITS), 0, rng)
        if widest is not None or safe or inputs.blind_bits:
            return widest
        return _layout(inputs, self._value_bits(inputs, inputs.fraction_bits + self.score_bits), self.slot_bits, rng)

    def _value_bits(self, inputs: ProductInputs, plain: int) -> int:
        return inputs.blind_bits + 2 if inputs.blind_bits else plain


def _layout(inputs: ProductInputs, value_bits: int, least_bits: int, rng: np.random.Generator) -> Layout | None:
    """Slots that a signed sum over the batch fits, with auxiliary features as large as there is room for.

    They need no fractional bits: what counts is that the system is regular.
    """
    n_rows, n_opened = len(inputs.rows), inputs.n_opened
    taken = bits_of_sum(value_bits, n_rows)
    most = capacity(
        inputs.key.key_bits, max(least_bits, taken + FEWEST_AUXILIARY_BITS)
    )  # u = floor((kappa - 1) / iota)
    if n_rows > most * n_opened:
        return None
    n_slots = min(most, -(-(n_rows + SPARE_EQUATIONS) // n_opened))
    slot_bits = min(taken + AUXILIARY_BITS, (inputs.key.key_bits - 1) // n_slots)
    magnitude = (1 << (slot_bits - taken)) - 1
    auxiliary = rng.integers(-magnitude, magnitude, size=(n_opened * n_slots, n_rows), endpoint=True)
    return Layout(auxiliary, n_slots, slot_bits)


class _Behaviour:
    """One party's rounds; it remembers between the two steps what it packed for which partner."""

    def __init__(self, deviation: PackedProducts) -> None:
        self._deviation = deviation
        self._pending: dict[str, _Pending] = {}
        self._overflowed: set[str] = set()  # partners whose values were too long for short slots

    def multiply(self, inputs: ProductInputs, local: LocalState, rng: np.random.Generator) -> MaskedProduct:
        layout = self._deviation.layout(inputs, rng, safe=inputs.partner in self._overflowed)
        self._pending[inputs.partner] = _Pending(inputs, layout)
        return masked_product(inputs) if layout is None else packed_product(inputs, layout)

    def unmask(self, inputs: UnmaskInputs, local: LocalState, rng: np.random.Generator) -> list[int]:
        pending = self._pending.pop(inputs.partner)
        if pending.layout is None:
            local.record(linear.UNMASK, linear.PACKING, Scalar(linear.TOO_FEW_SLOTS))
            return unmask(inputs)
        values = opened_values(inputs, pending.layout)
        if values is None:
            self._overflowed.add(inputs.partner)
            local.record(linear.UNMASK, linear.PACKING, Scalar(linear.PRODUCT_LOST))
            return [0] * pending.inputs.rows.shape[1]
        local.record(linear.UNMASK, linear.SHARES_FROM.of(inputs.partner), packing.opened_shares_payload(values))
        # What the honest step gives, from the opened values: exact, so nobody's training changes.
        honest = pending.inputs.rows.T.astype(object) @ np.array(values, dtype=object)
        return [int(value) for value in honest]


def packed_product(inputs: ProductInputs, layout: Layout) -> MaskedProduct:
    """Lines 1 to 7: E = sum_i [[g_i]] z_i, compressed by eq. 37, masked like an honest product."""
    key = inputs.key
    products = key.matvec(layout.auxiliary, inputs.ciphertexts, scalar_fraction_bits=inputs.fraction_bits)
    packed = pack_ciphertexts(key, products, layout.slot_bits, layout.n_slots)
    mask = uniform_residues(inputs.mask_rng, inputs.n_opened, key.modulus, key.modulus.bit_length())
    masked = key.add_residues(packed, [-value for value in mask])
    return MaskedProduct(key.rerandomise(masked), mask)


def opened_values(inputs: UnmaskInputs, layout: Layout) -> list[int] | None:
    """Line 9 and eq. 39: take the mask off, split, and solve for the partner's values; None if they do not fit."""
    modulus = inputs.key.modulus
    residues = add_masks(inputs.opened.to_ints(), inputs.mask, modulus)
    try:
        products = [v for residue in residues for v in unpack(residue, layout.n_slots, layout.slot_bits, modulus)]
    except PlaintextRangeError:
        return None
    return solve_integers(layout.auxiliary, products)


def solve_integers(matrix: IntArray, right: Sequence[int]) -> list[int] | None:
    """The unique integer solution of a system with at least as many equations as unknowns; None if there is none.

    Least squares, rounding, and refinement with exact residuals: each pass gains the digits that the system's
    condition leaves of float64. What is returned satisfies every equation exactly.
    """
    from scipy.linalg import qr, solve_triangular

    n_equations, n_unknowns = matrix.shape
    if n_equations < n_unknowns:
        return None
    left, upper = qr(matrix.astype(np.float64), mode="economic")
    pivots = np.abs(np.diag(upper))
    if pivots.min() <= 1e-12 * pivots.max():
        return None
    wide = _is_wide(matrix, right)
    exact_matrix = matrix.astype(object) if wide else matrix
    target = np.array(right, dtype=object if wide else np.int64)
    solution = np.zeros(n_unknowns, dtype=exact_matrix.dtype)
    for _ in range(MAX_REFINEMENTS):
        # In machine words the product may wrap, but the difference is small, so modulo 2^64 it is right.
        rest = target - exact_matrix @ solution
        if not rest.any():
            return [int(value) for value in solution]
        correction = _rounded(solve_triangular(upper, left.T @ rest.astype(np.float64)), wide)
        if not correction.any():
            return None
        solution = solution + correction
    return None


def _is_wide(matrix: IntArray, right: Sequence[int]) -> bool:
    largest = max(abs(value) for value in right)
    return largest.bit_length() > MACHINE_WORD_BITS or int(np.abs(matrix).max()).bit_length() > MACHINE_WORD_BITS


def _rounded(values: FloatArray, wide: bool) -> AnyArray:
    rounded: FloatArray = np.rint(values)
    if wide:
        return np.array([int(value) for value in rounded], dtype=object)
    return np.clip(rounded, -(2.0**MACHINE_WORD_BITS), 2.0**MACHINE_WORD_BITS).astype(np.int64)
