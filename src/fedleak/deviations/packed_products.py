"""Many products hidden in each ciphertext that the partner decrypts (Hu et al. 2022, algorithm 2).

Instead of its d features the party multiplies the partner's ciphertexts with u d random auxiliary ones, packs u
products into each ciphertext and masks them as always. The partner decrypts d uniform residues, as in an honest
round. The party unpacks u d equations in the batch's values and solves them, in exact integers. It then computes the
product that an honest round would have given it, so the training goes on unchanged.
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
from fedleak.crypto.masks import (
    MaskedProduct,
    ProductInputs,
    UnmaskInputs,
    add_masks,
    masked_product,
    uniform_residues,
    unmask,
)
from fedleak.crypto.packing import capacity, pack_ciphertexts, unpack
from fedleak.protocols.linear import vocabulary as linear

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

    slot_bits: int = setting(64, "length of one packed product (iota)", unit="bits")
    score_bits: int = setting(10, "bits before the binary point that a partner's value may have", unit="bits")

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        behaviour = _Behaviour(self)
        return (
            Hook(linear.MULTIPLY, HookKind.COMPUTE, party, behaviour.multiply),
            Hook(linear.UNMASK, HookKind.COMPUTE, party, behaviour.unmask),
        )

    def layout(self, inputs: ProductInputs, rng: np.random.Generator) -> Layout | None:
        """As many slots as the batch needs; None where even all slots are too few (s > u d)."""
        n_rows, n_columns = inputs.rows.shape
        slot_bits, magnitude = self._widths(inputs, n_rows)
        most = capacity(inputs.key.key_bits, slot_bits)  # u = floor((kappa - 1) / iota)
        if n_columns == 0 or n_rows > most * n_columns:
            return None
        n_slots = min(most, -(-(n_rows + SPARE_EQUATIONS) // n_columns))
        auxiliary = rng.integers(-magnitude, magnitude, size=(n_columns * n_slots, n_rows), endpoint=True)
        return Layout(auxiliary, n_slots, slot_bits)

    def _widths(self, inputs: ProductInputs, n_rows: int) -> tuple[int, int]:
        """Bits of a slot, and how large auxiliary features may be so that a signed sum over the batch fits it.

        They need no fractional bits: what counts is that the system is regular.
        """
        value_bits = inputs.blind_bits + 2 if inputs.blind_bits else inputs.fraction_bits + self.score_bits
        taken = value_bits + n_rows.bit_length() + 1
        slot_bits = max(self.slot_bits, taken + 2)
        return slot_bits, (1 << min(slot_bits - taken, 20)) - 1


class _Behaviour:
    """One party's rounds; it remembers between the two steps what it packed for which partner."""

    def __init__(self, deviation: PackedProducts) -> None:
        self._deviation = deviation
        self._pending: dict[str, _Pending] = {}

    def multiply(self, inputs: ProductInputs, local: LocalState, rng: np.random.Generator) -> MaskedProduct:
        layout = self._deviation.layout(inputs, rng)
        self._pending[inputs.partner] = _Pending(inputs, layout)
        return masked_product(inputs) if layout is None else packed_product(inputs, layout)

    def unmask(self, inputs: UnmaskInputs, local: LocalState, rng: np.random.Generator) -> list[int]:
        return _open(inputs, self._pending.pop(inputs.partner), local)


def packed_product(inputs: ProductInputs, layout: Layout) -> MaskedProduct:
    """Lines 1 to 7: E = sum_i [[g_i]] z_i, compressed by eq. 37, masked like an honest product."""
    key = inputs.key
    products = key.matvec(layout.auxiliary, inputs.ciphertexts, scalar_fraction_bits=inputs.fraction_bits)
    packed = pack_ciphertexts(key, products, layout.slot_bits, layout.n_slots)
    mask = uniform_residues(inputs.mask_rng, inputs.rows.shape[1], key.modulus, key.modulus.bit_length())
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


def _open(inputs: UnmaskInputs, pending: _Pending, local: LocalState) -> list[int]:
    if pending.layout is None:
        local.record(linear.UNMASK, linear.PACKING, Scalar("too few slots for the batch"))
        return unmask(inputs)
    values = opened_values(inputs, pending.layout)
    n_columns = pending.inputs.rows.shape[1]
    if values is None:
        local.record(linear.UNMASK, linear.PACKING, Scalar("a value did not fit its slot"))
        return [0] * n_columns
    local.record(linear.UNMASK, linear.SHARES_FROM.of(inputs.partner), packing.opened_shares_payload(values))
    # What the honest step gives, from the opened values: exact, so nobody's training changes.
    honest = pending.inputs.rows.T.astype(object) @ np.array(values, dtype=object)
    return [int(value) for value in honest]


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
