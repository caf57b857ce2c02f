from __future__ import annotations

import numpy as np

from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.masked_product import ProductInputs, UnmaskInputs, masked_product, open_product, unmask

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
