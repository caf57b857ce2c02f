"""Paillier itself: against phe, at full size, and against its own definition."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np
import phe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import CryptoError, DecryptionError
from fedleak.core.payload import CipherArray
from fedleak.crypto.bigint import Mpz, powmod
from fedleak.crypto.fixed_point import decode, encode
from fedleak.crypto.paillier_cipher import PaillierPrivateKey, PaillierPublicKey, prime_pair
from fedleak.crypto.unit_group import FixedBaseTable, UnitGroup

short = st.integers(-(2**53), 2**53)
few = settings(derandomize=True, deadline=None, max_examples=20)


class Oracle:
    """phe with the same key: it reads our ciphertexts, and we read its."""

    def __init__(self, key: PaillierPrivateKey) -> None:
        self.public = phe.PaillierPublicKey(key.public.modulus)
        self.private = phe.PaillierPrivateKey(self.public, key.p, key.q)
        self.width = key.public.ciphertext_bytes

    def numbers(self, c: CipherArray) -> list[phe.EncryptedNumber]:
        return [phe.EncryptedNumber(self.public, int.from_bytes(row.tobytes(), "big"), 0) for row in c.data]

    def decrypt(self, c: CipherArray) -> list[int]:
        return [self.private.decrypt(number) for number in self.numbers(c)]

    def rows(self, numbers: list[phe.EncryptedNumber]) -> np.ndarray:
        packed = b"".join(number.ciphertext(be_secure=False).to_bytes(self.width, "big") for number in numbers)
        return np.frombuffer(packed, dtype=np.uint8).reshape(len(numbers), self.width)


@few
@given(values=st.lists(short, min_size=1, max_size=5), scalars=st.lists(short, min_size=5, max_size=5))
def test_phe_opens_what_we_compute(paillier: PaillierPrivateKey, values: list[int], scalars: list[int]) -> None:
    public, oracle = paillier.public, Oracle(paillier)
    scalars = scalars[: len(values)]
    c = public.encrypt(values, 0)
    assert oracle.decrypt(c) == values
    assert oracle.decrypt(public.add(c, c)) == [2 * value for value in values]
    assert oracle.decrypt(public.multiply(c, scalars)) == [v * k for v, k in zip(values, scalars, strict=True)]
    assert oracle.decrypt(public.rerandomise(c)) == values


@few
@given(values=st.lists(short, min_size=1, max_size=5))
def test_we_open_what_phe_encrypts(paillier: PaillierPrivateKey, values: list[int]) -> None:
    oracle = Oracle(paillier)
    c = paillier.public.encrypt(values, 0)
    theirs = replace(c, data=oracle.rows([oracle.public.encrypt(value) for value in values]))
    assert paillier.decrypt(theirs) == [value % paillier.public.modulus for value in values]


@few
@given(scalars=st.lists(short, min_size=4, max_size=4))
def test_products_and_sums_are_the_very_ciphertexts_of_phe(paillier: PaillierPrivateKey, scalars: list[int]) -> None:
    public, oracle = paillier.public, Oracle(paillier)
    c = public.encrypt([1, -2, 3, -4], 0)
    a, b, d, e = oracle.numbers(c)
    product = [a * scalars[0] + b * scalars[1] + d * scalars[2] + e * scalars[3]]
    assert np.array_equal(public.matvec(np.array([scalars]), c).data, oracle.rows(product))


def test_full_size_key(full_size_paillier: PaillierPrivateKey) -> None:
    key, public = full_size_paillier, full_size_paillier.public
    assert (public.modulus.bit_length(), public.n_bytes, public.ciphertext_bytes) == (2048, 256, 512)
    rng = np.random.default_rng(3)
    residual, rows = rng.standard_normal(16), rng.standard_normal((16, 3))
    product = public.matvec(encode(rows, 40).T, public.encrypt(encode(residual, 40), 40), scalar_fraction_bits=40)
    opened = key.decrypt(public.rerandomise(product))
    assert decode(opened, 80, public.modulus) == pytest.approx(rows.T @ residual, abs=1e-10)
    assert Oracle(key).decrypt(product)[0] / 2**80 == pytest.approx(rows[:, 0] @ residual, abs=1e-10)


def test_primes_suit_the_short_exponents(full_size_paillier: PaillierPrivateKey) -> None:
    p, q = full_size_paillier.p, full_size_paillier.q
    assert p != q
    assert p % 4 == q % 4 == 3
    assert gcd(p - 1, q - 1) == 2
    assert p.bit_length() == q.bit_length() == 1024


def test_every_pair_of_primes_has_the_right_form() -> None:
    for _ in range(20):
        p, q = (int(prime) for prime in prime_pair(256))
        assert (p % 4, q % 4, gcd(p - 1, q - 1)) == (3, 3, 2)
        assert (p * q).bit_length() == 256


def test_the_generator_is_an_nth_residue_with_a_nonsquare_root(paillier: PaillierPrivateKey) -> None:
    n, order = paillier.public.modulus, (paillier.p - 1) * (paillier.q - 1)
    assert pow(paillier.public.generator, order, n * n) == 1
    root = pow(paillier.public.generator, pow(n, -1, order), n)
    assert pow(-root, (paillier.p - 1) // 2, paillier.p) == 1  # -h is a square
    assert pow(root, (paillier.p - 1) // 2, paillier.p) == paillier.p - 1  # h is none


@pytest.mark.parametrize("factor", ["p", "q", "n"])
def test_ciphertexts_that_share_a_factor_with_n_raise(paillier: PaillierPrivateKey, factor: str) -> None:
    public = paillier.public
    number = {"p": paillier.p, "q": paillier.q, "n": public.modulus}[factor] * 6
    row = np.frombuffer(number.to_bytes(public.ciphertext_bytes, "big"), dtype=np.uint8)[None]
    bad = CipherArray(public.key_id, public.scheme, row, (1,), 0)
    with pytest.raises(DecryptionError, match="shares a factor"):
        paillier.decrypt(bad)
    with pytest.raises(CryptoError, match="shares a factor"):
        public.multiply(bad, [-3])
    with pytest.raises(CryptoError, match="shares a factor"):
        public.matvec(np.array([[3]]), bad)


@pytest.mark.parametrize("excess", [0, 1])
def test_ciphertexts_from_n_squared_on_raise(paillier: PaillierPrivateKey, excess: int) -> None:
    public = paillier.public
    number = public.modulus**2 + excess
    row = np.frombuffer(number.to_bytes(public.ciphertext_bytes, "big"), dtype=np.uint8)[None]
    with pytest.raises(DecryptionError, match="between 0 and n²"):
        paillier.decrypt(CipherArray(public.key_id, public.scheme, row, (1,), 0))


def test_tampering_never_gives_the_plaintext_back(paillier: PaillierPrivateKey) -> None:
    c = paillier.public.encrypt([42], 0)
    for position in range(0, c.data.shape[1], 7):
        data = c.data.copy()
        data[0, position] ^= 1
        try:
            opened = paillier.decrypt(replace(c, data=data))
        except DecryptionError:
            continue
        assert opened != [42]


@few
@given(exponent=st.binary(min_size=6, max_size=6))
@pytest.mark.parametrize("modulus", [10403, (1 << 4400) - 1])  # wide windows, narrow windows
def test_fixed_base_powers(modulus: int, exponent: bytes) -> None:
    group = UnitGroup(Mpz(modulus))
    table = FixedBaseTable(group, Mpz(2), 6)
    expected = powmod(Mpz(2), int.from_bytes(exponent, "little"), group.n_squared)
    assert group.join(*table.power(exponent)) == expected
    with pytest.raises(ValueError, match="6 bytes"):
        table.power(exponent + b"\0")


@few
@given(x=st.integers(1, 10**12), y=st.integers(1, 10**12))
def test_half_size_units_multiply_and_invert(x: int, y: int) -> None:
    n = 1_000_003 * 998_244_353
    group = UnitGroup(Mpz(n))
    x, y = (value + (value % 1_000_003 == 0) for value in (x, y))
    unit = group.product(group.split(Mpz(x)), group.split(Mpz(y)))
    assert group.join(*group.factor(unit)) == x * y % n**2
    assert group.join(*group.inverse_factor(unit)) == pow(x * y, -1, n**2)


def test_a_public_key_does_not_hold_the_primes(paillier: PaillierPrivateKey) -> None:
    fresh = PaillierPublicKey(paillier.public.modulus, paillier.public.generator)
    assert fresh.key_id == paillier.public.key_id
    assert set(fresh.to_payload().items) == {"scheme", "modulus", "generator"}
    assert paillier.decrypt(fresh.encrypt([-6], 0)) == [paillier.public.modulus - 6]
    assert PaillierPublicKey(fresh.modulus, fresh.generator + 1).key_id != fresh.key_id
