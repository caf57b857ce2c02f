"""The ideal cipher: the same plaintexts as Paillier, handles for ciphertexts, bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import CryptoError, DecryptionError
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import PrivateKey, PublicKey
from fedleak.crypto.fixed_point import centred, decode
from fedleak.crypto.masks import remove_masks, uniform_residues
from fedleak.crypto.paillier_cipher import PaillierPrivateKey
from fedleak.crypto.sealed import Sealed, SealedPrivateKey, exact_products

short = st.integers(-(2**53), 2**53)


def one_round(key: PrivateKey, values: list[int], matrix: np.ndarray) -> tuple[list[int], list[float], bytes]:
    """A masked product as a protocol computes it: the opened values, the decoded result, the generator's state."""
    public, rng = key.public, np.random.default_rng(11)
    total = public.add(public.encrypt(values, 20), public.encrypt(values[::-1], 20))
    product = public.matvec(matrix, public.multiply(total, values), scalar_fraction_bits=20)
    masks = uniform_residues(rng, len(matrix), public.modulus, public.key_bits)
    opened = remove_masks(key.decrypt(public.rerandomise(public.add_residues(product, masks))), masks, public.modulus)
    numbers = decode(opened, product.fraction_bits, public.modulus)
    return [centred(value, public.modulus) for value in opened], numbers.tolist(), rng.bytes(8)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(values=st.lists(short, min_size=4, max_size=4), flat=st.lists(short, min_size=12, max_size=12))
def test_sealed_and_paillier_agree_on_integers_numbers_and_randomness(
    paillier: PaillierPrivateKey, sealed: SealedPrivateKey, values: list[int], flat: list[int]
) -> None:
    matrix = np.array(flat).reshape(3, 4)
    assert paillier.public.modulus != sealed.public.modulus
    assert one_round(paillier, values, matrix) == one_round(sealed, values, matrix)


def test_ciphertexts_are_handles_of_sixteen_bytes(sealed: SealedPrivateKey) -> None:
    c = sealed.public.encrypt([1, 2], 0)
    assert c.data.shape == (2, 16)
    assert (c.scheme, c.key_id) == ("sealed", sealed.public.key_id)


def test_a_multiple_of_a_power_of_two_still_hides_its_plaintext(sealed: SealedPrivateKey) -> None:
    c = sealed.public.encrypt([1, 1], 0)
    shifted = sealed.public.multiply(c, [1 << 256, 1 << 256])
    assert not np.array_equal(shifted.data[0], shifted.data[1])


def test_payloads_hold_no_secret_and_no_vault(sealed: SealedPrivateKey) -> None:
    assert set(sealed.to_payload().items) == {"scheme", "modulus"}
    assert set(sealed.public.to_payload().items) == {"scheme", "modulus"}


def test_moduli_are_odd_and_fresh() -> None:
    moduli = {Sealed(allow_small_keys=True).generate(256).public.modulus for _ in range(20)}
    assert len(moduli) == 20
    assert all(modulus % 2 == 1 and modulus.bit_length() == 256 for modulus in moduli)


def run_rounds(public: PublicKey, n_rounds: int, size: int) -> CipherArray:
    for _ in range(n_rounds):
        last = public.encrypt(list(range(size)), 0)
    return last


def test_memory_is_bounded_and_what_is_in_use_stays() -> None:
    key = Sealed(allow_small_keys=True, vault_capacity=100).generate(256)
    kept = key.public.encrypt([7, 8], 0)
    idle = key.public.encrypt([9], 0)
    for _ in range(50):
        last = run_rounds(key.public, 1, 60)
        assert key.decrypt(kept) == [7, 8]
    assert len(key._vault) <= 2 * (100 + 60)
    assert key.decrypt(last) == list(range(60))
    with pytest.raises(DecryptionError, match="vault_capacity"):
        key.decrypt(idle)
    with pytest.raises(CryptoError, match="vault_capacity"):
        key.public.add(idle, idle)


def test_the_most_recent_envelopes_are_kept_up_to_the_capacity() -> None:
    key = Sealed(allow_small_keys=True, vault_capacity=100).generate(256)
    arrays = [key.public.encrypt([value], 0) for value in range(333)]
    assert [key.decrypt(c)[0] for c in arrays[-100:]] == list(range(233, 333))


def test_an_array_larger_than_the_vault_is_kept_whole() -> None:
    key = Sealed(allow_small_keys=True, vault_capacity=10).generate(256)
    c = key.public.encrypt(list(range(1000)), 0)
    doubled = key.public.add(c, c)
    assert key.decrypt(doubled) == list(range(0, 2000, 2))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    shape=st.tuples(st.integers(0, 4), st.integers(1, 6)),
    matrix_bits=st.sampled_from([1, 20, 43, 62, 63, 90]),
    vector_bits=st.sampled_from([0, 1, 15, 16, 17, 60, 128, 2048]),
    data=st.data(),
)
def test_exact_products(shape: tuple[int, int], matrix_bits: int, vector_bits: int, data: st.DataObject) -> None:
    entries = st.integers(-(2**matrix_bits) + 1, 2**matrix_bits - 1)
    numbers = st.integers(-(2**vector_bits), 2**vector_bits)
    flat = data.draw(st.lists(entries, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    vectors = [data.draw(st.lists(numbers, min_size=shape[1], max_size=shape[1])) for _ in range(2)]
    matrix = np.array(flat, dtype=np.int64 if matrix_bits <= 63 else object).reshape(shape)
    expected = [[sum(a * b for a, b in zip(row, v, strict=True)) for row in matrix.tolist()] for v in vectors]
    assert exact_products(matrix, vectors) == expected


@pytest.mark.parametrize("n_columns", [256, 9000])
def test_exact_products_at_the_largest_sums(n_columns: int) -> None:
    """All signs alike and all bits set: the largest partial sums that the limbs allow."""
    largest = 2**62 - 1
    matrix = np.vstack([np.full(n_columns, largest), np.full(n_columns, -largest)])
    vector = [2**2048 - 1] * n_columns
    product = largest * (2**2048 - 1) * n_columns
    assert exact_products(matrix, [vector]) == [[product, -product]]
