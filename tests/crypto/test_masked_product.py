from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.arrays import IntArray
from fedleak.core.errors import PlaintextRangeError
from fedleak.core.payload import IntegerArray
from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.fixed_point import ENCODED_BITS
from fedleak.crypto.masked_product import (
    CARRY_BITS,
    ProductInputs,
    UnmaskInputs,
    ciphertexts_for,
    masked_product,
    open_product,
    product_bits,
    slot_bits_of,
    unmask,
)
from fedleak.crypto.masks import HIDING_BITS

ROWS = np.random.default_rng(8).integers(-(2**40), 2**40, (5, 3))
VALUES = [7, -3, 11, 0, 2**39]


def product_inputs(key: PrivateKey, seed: int = 9) -> ProductInputs:
    sent = key.public.encrypt(VALUES, 40)
    return ProductInputs("bank", key.public, sent, ROWS, 40, np.random.default_rng(seed))


def test_a_masked_product_comes_back_as_the_product(private_key: PrivateKey) -> None:
    inputs = product_inputs(private_key)
    product = masked_product(inputs)
    opened = open_product(private_key, product.ciphertexts)
    found = unmask(UnmaskInputs("bank", private_key.public, opened, product.mask))
    assert found == [sum(int(row) * value for row, value in zip(column, VALUES, strict=True)) for column in ROWS.T]
    assert all(one != other for one, other in zip(found, opened.to_ints(), strict=True))
    assert product.ciphertexts.fraction_bits == 80


def test_the_key_holder_cannot_try_rows_on_a_masked_product(private_key: PrivateKey) -> None:
    """It has its own ciphertexts and opens the masked product. Rows that it guesses give a product of its ciphertexts;
    shifted to the plaintext that it opened, the right ones would give the very bytes."""
    inputs = product_inputs(private_key)
    seen = masked_product(inputs).ciphertexts
    tried = private_key.public.matvec(ROWS.T, inputs.ciphertexts, scalar_fraction_bits=40)
    pairs = zip(private_key.decrypt(seen), private_key.decrypt(tried), strict=True)
    shifted = private_key.public.add_residues(
        tried, [(one - other) % private_key.public.modulus for one, other in pairs]
    )
    assert private_key.decrypt(shifted) == private_key.decrypt(seen)
    assert not (shifted.data == seen.data).all(axis=1).any()


LONGEST = 2**ENCODED_BITS - 1  # of an encoding


def packed_inputs(key: PrivateKey, rows: IntArray, values: list[int], seed: int = 9) -> ProductInputs:
    sent = key.public.encrypt(values, 40)
    rng, slot_bits = np.random.default_rng(seed), slot_bits_of(len(values), 1)
    return ProductInputs("bank", key.public, sent, rows, 40, rng, slot_bits=slot_bits)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("sign", [1, -1])
def test_packed_products_of_the_longest_values_come_back(private_key: PrivateKey, n_columns: int, sign: int) -> None:
    """Two columns a ciphertext of 512 bits."""
    values = [sign * LONGEST] * 5
    rows = np.full((5, n_columns), LONGEST)
    rows[:, ::3] = np.random.default_rng(n_columns).integers(-(2**40), 2**40, rows[:, ::3].shape)
    inputs = packed_inputs(private_key, rows, values)
    product = masked_product(inputs)
    assert len(product.ciphertexts.data) == inputs.n_opened == -(-n_columns // 2)
    opened = open_product(private_key, product.ciphertexts)
    found = unmask(UnmaskInputs("bank", private_key.public, opened, product.mask, inputs.slot_bits))
    assert found == [sum(int(row) * value for row, value in zip(column, values, strict=True)) for column in rows.T]


def test_slots_are_as_long_as_they_must_be() -> None:
    """A product, 80 bits that hide it, a sign and a carry: the longest product and mask stay half a slot below it."""
    for n_rows, n_others in ((1, 1), (16, 1), (1000, 2)):
        slot = slot_bits_of(n_rows, n_others)
        assert slot == product_bits(n_rows, n_others) + HIDING_BITS + CARRY_BITS
        assert (1 << slot - CARRY_BITS) + (1 << product_bits(n_rows, n_others)) < 1 << slot - 1
    assert [ciphertexts_for(n, 2048, slot_bits_of(16, 1)) for n in (0, 1, 9, 10, 18, 19)] == [0, 1, 1, 2, 2, 3]
    assert ciphertexts_for(7, 2048, 0) == 7


def test_what_the_partner_opens_in_a_slot_is_80_bits_longer_than_a_product(private_key: PrivateKey) -> None:
    """Over many masks, what stands in the slots is spread evenly over all lengths of a mask."""
    inputs = packed_inputs(private_key, ROWS, VALUES)
    rng, seen = np.random.default_rng(1), []
    for _ in range(200):
        product = masked_product(replace(inputs, mask_rng=rng))
        seen += product.mask
        assert all(mask >> inputs.slot_bits - CARRY_BITS == 0 for mask in product.mask)
    shares = np.sort(np.array(seen) / 2 ** (inputs.slot_bits - CARRY_BITS))
    distance = np.abs(shares - np.arange(1, len(shares) + 1) / len(shares)).max()
    assert distance < 1.63 / np.sqrt(len(shares))  # the 1 % point


def test_a_slot_that_overflowed_is_no_number(private_key: PrivateKey) -> None:
    inputs = packed_inputs(private_key, ROWS, VALUES)
    product = masked_product(inputs)
    opened = open_product(private_key, product.ciphertexts).to_ints()
    wrong = IntegerArray.from_ints(
        [*opened[:-1], (opened[-1] + (1 << 300)) % private_key.public.modulus], private_key.public.n_bytes
    )
    with pytest.raises(PlaintextRangeError, match="a slot overflowed"):
        unmask(UnmaskInputs("bank", private_key.public, wrong, product.mask, inputs.slot_bits))


def test_the_key_holder_cannot_try_rows_on_a_packed_product(private_key: PrivateKey) -> None:
    """As above: the same plaintexts twice are not the same bytes."""
    inputs = packed_inputs(private_key, ROWS, VALUES)
    seen, again = (masked_product(replace(inputs, mask_rng=np.random.default_rng(3))).ciphertexts for _ in range(2))
    assert private_key.decrypt(seen) == private_key.decrypt(again)
    assert not (seen.data == again.data).all(axis=1).any()
