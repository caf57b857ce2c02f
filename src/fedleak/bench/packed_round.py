"""One masked product, computed, opened and unmasked, with a ciphertext a column and with several columns in each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import RunError
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import PrivateKey
from fedleak.crypto.fixed_point import encode
from fedleak.crypto.masked_product import (
    ProductInputs,
    UnmaskInputs,
    masked_product,
    open_product,
    product_bits,
    unmask,
)

FRACTION_BITS = 40
SEED = 12


def rounds(key: PrivateKey, n_rows: int, n_columns: int) -> tuple[Callable[[], list[int]], Callable[[], list[int]]]:
    """The plain round and the packed one, on the same rows and ciphertexts."""
    rng = np.random.default_rng(SEED)
    rows = encode(rng.normal(size=(n_rows, n_columns)), FRACTION_BITS)
    sent = key.public.encrypt(encode(rng.normal(size=n_rows), FRACTION_BITS).tolist(), FRACTION_BITS)
    plain, packed = (_round(key, rows, sent, slot_bits) for slot_bits in (0, product_bits(n_rows, 1)))
    if plain() != packed():
        raise RunError("both products must be the same; they differ")
    return plain, packed


def _round(key: PrivateKey, rows: IntArray, sent: CipherArray, slot_bits: int) -> Callable[[], list[int]]:
    def once() -> list[int]:
        rng = np.random.default_rng(SEED)
        product = masked_product(
            ProductInputs("partner", key.public, sent, rows, FRACTION_BITS, rng, slot_bits=slot_bits)
        )
        opened = open_product(key, product.ciphertexts)
        return unmask(UnmaskInputs("partner", key.public, opened, product.mask, rows.shape[1], slot_bits))

    return once
