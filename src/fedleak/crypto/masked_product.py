"""A product with a partner's ciphertexts that the partner opens without seeing it.

Lines 6 to 12 of protocol 1 of Hu et al. 2022: the holder of the features multiplies them with a partner's ciphertexts,
masks and sends; the key holder decrypts the masked values and returns them; the mask comes off.

As printed there is a ciphertext a column. With slots, several columns share one, so that fewer are re-randomised, sent
and opened. The mask is of whole plaintexts, uniform modulo n as ever: it comes off before anybody looks for slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.payload import CipherArray, IntegerArray
from fedleak.crypto.cipher import PrivateKey, PublicKey
from fedleak.crypto.fixed_point import ENCODED_BITS, centred
from fedleak.crypto.masks import HIDING_BITS, add_masks, uniform_residues
from fedleak.crypto.packing import capacity, pack_ciphertexts, unpack

MOST_BLOCKS = 3  # values a row that a partner encrypts, where the sigmoid is cubic


def product_bits(n_rows: int, n_others: int) -> int:
    """Of sum_i a_i b_i over rows and partners: a fits an encoding, b one under shares that hide it where there are
    several partners; three blocks where the sigmoid is cubic, and a sign."""
    hiding = HIDING_BITS + n_others.bit_length() if n_others > 1 else 0
    return 2 * ENCODED_BITS + hiding + (MOST_BLOCKS * n_rows * max(n_others, 1)).bit_length() + 1


def ciphertexts_for(n_columns: int, key_bits: int, slot_bits: int) -> int:
    """That the partner opens; a ciphertext a column where ``slot_bits`` is 0."""
    return -(-n_columns // capacity(key_bits, slot_bits)) if slot_bits else n_columns


@dataclass(frozen=True, eq=False)
class ProductInputs:
    """What a party has when it computes the masked product (the inputs of that step)."""

    partner: str
    key: PublicKey  # the partner's
    ciphertexts: CipherArray  # one a row of the batch
    rows: IntArray  # own features of the batch, fixed-point: (rows, columns)
    fraction_bits: int
    mask_rng: np.random.Generator
    blind_bits: int = 0  # length of the random integers that hide a single partner's values, where there are any
    slot_bits: int = 0  # of a column's product where several share a ciphertext; 0 where each has one

    @property
    def n_opened(self) -> int:
        """Ciphertexts that the partner opens."""
        return ciphertexts_for(self.rows.shape[1], self.key.key_bits, self.slot_bits)


@dataclass(frozen=True, eq=False)
class MaskedProduct:
    ciphertexts: CipherArray  # masked
    mask: Sequence[int]  # one a ciphertext


@dataclass(frozen=True, eq=False)
class UnmaskInputs:
    partner: str
    key: PublicKey
    opened: IntegerArray
    mask: Sequence[int]
    n_columns: int
    slot_bits: int = 0


def masked_product(inputs: ProductInputs) -> MaskedProduct:
    """Lines 7 to 10: S = sum_i [[g_i]] x_i, minus a mask that is uniform modulo n."""
    key = inputs.key
    product = key.matvec(inputs.rows.T, inputs.ciphertexts, scalar_fraction_bits=inputs.fraction_bits)
    if inputs.slot_bits and inputs.n_opened:
        product = pack_ciphertexts(key, product, inputs.slot_bits)
    mask = uniform_residues(inputs.mask_rng, inputs.n_opened, key.modulus, key.modulus.bit_length())
    masked = key.add_residues(product, [-value for value in mask])
    # Without fresh randomness the partner, who knows that of its own ciphertexts, could test guesses of x.
    return MaskedProduct(key.rerandomise(masked), mask)


def open_product(key: PrivateKey, masked: CipherArray) -> IntegerArray:
    """Line 11: the key holder decrypts; what it sees is uniform modulo n."""
    return IntegerArray.from_ints(key.decrypt(masked), key.public.n_bytes)


def unmask(inputs: UnmaskInputs) -> list[int]:
    """Line 12: signed integers, a column each. The caller decodes them, which checks their range; ``unpack`` checks
    that slots are not overfull."""
    modulus, slot_bits = inputs.key.modulus, inputs.slot_bits
    residues = add_masks(inputs.opened.to_ints(), inputs.mask, modulus)
    if not slot_bits:
        return [centred(value, modulus) for value in residues]
    slots = capacity(inputs.key.key_bits, slot_bits)
    lengths = [min(slots, inputs.n_columns - first) for first in range(0, inputs.n_columns, slots)]
    packed = zip(residues, lengths, strict=True)
    return [value for residue, length in packed for value in unpack(residue, length, slot_bits, modulus)]
