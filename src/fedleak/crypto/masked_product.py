"""A product with a partner's ciphertexts that the partner opens without seeing it.

Lines 6 to 12 of protocol 1 of Hu et al. 2022: the holder of the features multiplies them with a partner's ciphertexts,
masks and sends; the key holder decrypts the masked values and returns them; the mask comes off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.payload import CipherArray, IntegerArray
from fedleak.crypto.cipher import PrivateKey, PublicKey
from fedleak.crypto.fixed_point import centred
from fedleak.crypto.masks import add_masks, uniform_residues


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


@dataclass(frozen=True, eq=False)
class MaskedProduct:
    ciphertexts: CipherArray  # one a column, masked
    mask: Sequence[int]


@dataclass(frozen=True, eq=False)
class UnmaskInputs:
    partner: str
    key: PublicKey
    opened: IntegerArray
    mask: Sequence[int]


def masked_product(inputs: ProductInputs) -> MaskedProduct:
    """Lines 7 to 10: S = sum_i [[g_i]] x_i, minus a mask that is uniform modulo n."""
    key = inputs.key
    product = key.matvec(inputs.rows.T, inputs.ciphertexts, scalar_fraction_bits=inputs.fraction_bits)
    mask = uniform_residues(inputs.mask_rng, inputs.rows.shape[1], key.modulus, key.modulus.bit_length())
    masked = key.add_residues(product, [-value for value in mask])
    # Without fresh randomness the partner, who knows that of its own ciphertexts, could test guesses of x.
    return MaskedProduct(key.rerandomise(masked), mask)


def open_product(key: PrivateKey, masked: CipherArray) -> IntegerArray:
    """Line 11: the key holder decrypts; what it sees is uniform modulo n."""
    return IntegerArray.from_ints(key.decrypt(masked), key.public.n_bytes)


def unmask(inputs: UnmaskInputs) -> list[int]:
    """Line 12: signed integers. The caller decodes them, which checks their range."""
    modulus = inputs.key.modulus
    residues = add_masks(inputs.opened.to_ints(), inputs.mask, modulus)
    return [centred(value, modulus) for value in residues]
