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
    ProductInputs,
    UnmaskInputs,
    ciphertexts_for,
    masked_product,
    open_product,
    product_bits,
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
    found = unmask(UnmaskInputs("bank", private_key.public, opened, product.mask, ROWS.shape[1]))
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


def packed_inputs(key: PrivateKey, rows: IntArray, values: list[int], *, n_others: int = 1) -> ProductInputs:
    sent = key.public.encrypt(values, 40)
    slot_bits = product_bits(len(values), n_others)
    return ProductInputs("bank", key.public, sent, rows, 40, np.random.default_rng(9), slot_bits=slot_bits)


def opened_and_found(key: PrivateKey, inputs: ProductInputs) -> tuple[IntegerArray, list[int]]:
    product = masked_product(inputs)
    assert len(product.ciphertexts.data) == len(product.mask) == inputs.n_opened
    opened = open_product(key, product.ciphertexts)
    n_columns = inputs.rows.shape[1]
    return opened, unmask(UnmaskInputs("bank", key.public, opened, product.mask, n_columns, inputs.slot_bits))


def products(rows: IntArray, values: list[int]) -> list[int]:
    return [sum(int(row) * value for row, value in zip(column, values, strict=True)) for column in rows.T]


@pytest.mark.parametrize("n_columns", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("n_others", "blinded"), [(1, LONGEST), (2, 2 ** (ENCODED_BITS + HIDING_BITS + 1))])
def test_packed_products_of_the_longest_values_come_back(
    private_key: PrivateKey, n_columns: int, sign: int, n_others: int, blinded: int
) -> None:
    """Three columns a ciphertext of 512 bits, two where values carry blinds; three blocks a row, as for the cubic."""
    values = [sign * blinded] * 3 * 4
    rows = np.full((12, n_columns), LONGEST)
    rows[:, ::3] = np.random.default_rng(n_columns).integers(-(2**40), 2**40, rows[:, ::3].shape)
    inputs = packed_inputs(private_key, rows, values, n_others=n_others)
    inputs = replace(inputs, slot_bits=product_bits(4, n_others))  # of four rows; the three blocks are in it
    opened, found = opened_and_found(private_key, inputs)
    assert inputs.n_opened == len(opened.to_ints()) == -(-n_columns // (3 if n_others == 1 else 2))
    assert found == products(rows, values)


def test_nine_and_fifteen_columns_share_a_ciphertext_of_2048_bits() -> None:
    assert [ciphertexts_for(n, 2048, product_bits(16, 1)) for n in (0, 1, 15, 16, 30, 31)] == [0, 1, 1, 2, 2, 3]
    assert [ciphertexts_for(n, 2048, product_bits(16, 2)) for n in (9, 10)] == [1, 2]
    assert ciphertexts_for(7, 2048, 0) == 7


def test_what_the_partner_opens_of_packed_products_is_uniform(private_key: PrivateKey) -> None:
    """Also where it encrypted values longer than any slot, to see what stands above them."""
    wide = [int(value) << 150 for value in VALUES]
    modulus, seen = private_key.public.modulus, []
    for values in (VALUES, wide):
        inputs = packed_inputs(private_key, ROWS, values)
        for seed in range(150):
            product = masked_product(replace(inputs, mask_rng=np.random.default_rng([seed, len(seen)])))
            seen += open_product(private_key, product.ciphertexts).to_ints()
    shares = np.sort(np.array([value / modulus for value in seen]))
    distance = np.abs(shares - np.arange(1, len(shares) + 1) / len(shares)).max()
    assert distance < 1.63 / np.sqrt(len(shares))  # the 1 % point


def test_a_slot_that_overflowed_is_no_number(private_key: PrivateKey) -> None:
    inputs = packed_inputs(private_key, ROWS[:, :1], VALUES)
    product = masked_product(inputs)
    (opened,) = open_product(private_key, product.ciphertexts).to_ints()
    longer = IntegerArray.from_ints([(opened + (1 << 300)) % private_key.public.modulus], private_key.public.n_bytes)
    with pytest.raises(PlaintextRangeError, match="a slot overflowed"):
        unmask(UnmaskInputs("bank", private_key.public, longer, product.mask, 1, inputs.slot_bits))


def test_the_key_holder_cannot_try_rows_on_a_packed_product(private_key: PrivateKey) -> None:
    """As above: the same plaintexts twice are not the same bytes."""
    inputs = packed_inputs(private_key, ROWS, VALUES)
    seen, again = (masked_product(replace(inputs, mask_rng=np.random.default_rng(3))).ciphertexts for _ in range(2))
    assert private_key.decrypt(seen) == private_key.decrypt(again)
    assert not (seen.data == again.data).all(axis=1).any()
