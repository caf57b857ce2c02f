"""Paillier keys as payloads, honest and hostile."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.errors import FileFormatError, InputError, KeySizeError
from fedleak.core.payload import Array, IntegerArray, Payload, Scalar, Tree
from fedleak.crypto.cipher import MAX_KEY_BITS
from fedleak.crypto.paillier_cipher import PaillierPrivateKey, prime_pair
from fedleak.crypto.sealed import SealedPrivateKey
from fedleak.crypto.sent_keys import private_key_from_payload, public_key_from_payload


def changed(tree: Tree, **fields: Payload) -> Tree:
    return Tree({**tree.items, **fields})


def integer(value: int, n_bytes: int | None = None) -> IntegerArray:
    return IntegerArray.from_ints([value], n_bytes or max(1, -(-value.bit_length() // 8)))


def test_public_round_trip(paillier: PaillierPrivateKey) -> None:
    loaded = public_key_from_payload(paillier.public.to_payload(), allow_small_keys=True)
    assert (loaded.modulus, loaded.generator) == (paillier.public.modulus, paillier.public.generator)
    assert loaded.key_id == paillier.public.key_id
    assert paillier.decrypt(loaded.encrypt([12, -3], 0)) == [12, loaded.modulus - 3]


def test_private_round_trip(paillier: PaillierPrivateKey) -> None:
    loaded = private_key_from_payload(paillier.to_payload(), allow_small_keys=True)
    assert loaded.public.key_id == paillier.public.key_id
    assert loaded.decrypt(paillier.public.encrypt([12, -3], 0)) == [12, loaded.public.modulus - 3]


def test_full_size_round_trip(full_size_paillier: PaillierPrivateKey) -> None:
    loaded = private_key_from_payload(full_size_paillier.to_payload())
    assert loaded.decrypt(full_size_paillier.public.encrypt([-1], 0)) == [full_size_paillier.public.modulus - 1]


def test_small_keys_are_refused_unless_allowed(paillier: PaillierPrivateKey) -> None:
    with pytest.raises(KeySizeError, match="Use 2048"):
        public_key_from_payload(paillier.public.to_payload())
    with pytest.raises(KeySizeError, match="Use 2048"):
        private_key_from_payload(paillier.to_payload())


def hostile_public(honest: Tree, n: int) -> dict[str, Payload]:
    return {
        "not a tree": Scalar(1),
        "nothing": Tree({}),
        "a field more": changed(honest, extra=Scalar(1)),
        "another scheme": changed(honest, scheme=Scalar("sealed")),
        "a scheme that is no text": changed(honest, scheme=integer(5)),
        "a modulus that is a float": changed(honest, modulus=Array(np.array([1.0]))),
        "two moduli": changed(honest, modulus=IntegerArray.from_ints([n, n], 64)),
        "no modulus": changed(honest, modulus=IntegerArray.from_ints([], 64)),
        "an even modulus": changed(honest, modulus=integer(n + 1)),
        "an even modulus beside a unit": changed(honest, modulus=integer(1 << 1023), generator=integer(3)),
        "a prime modulus": changed(honest, modulus=integer(int(prime_pair(1024)[0]))),
        "a zero modulus": changed(honest, modulus=integer(0)),
        "a tiny modulus": changed(honest, modulus=integer(15)),
        "an endless modulus": changed(honest, modulus=integer(n, 1 << 20)),
        "generator zero": changed(honest, generator=integer(0)),
        "generator one": changed(honest, generator=integer(1)),
        "generator minus one": changed(honest, generator=integer(n * n - 1)),
        "generator n": changed(honest, generator=integer(n)),
        "generator beyond n squared": changed(honest, generator=integer(n * n + 1)),
        "an endless generator": changed(honest, generator=integer(5, 1 << 20)),
    }


def test_a_modulus_may_be_written_in_as_many_bytes_as_the_largest_has(paillier: PaillierPrivateKey) -> None:
    n, most = paillier.public.modulus, MAX_KEY_BITS // 8
    padded = [changed(paillier.public.to_payload(), modulus=integer(n, width)) for width in (most, most + 1)]
    assert public_key_from_payload(padded[0], allow_small_keys=True).modulus == n
    with pytest.raises(InputError, match="at most"):
        public_key_from_payload(padded[1], allow_small_keys=True)


def test_hostile_public_keys_raise_one_clear_error(paillier: PaillierPrivateKey) -> None:
    for what, payload in hostile_public(paillier.public.to_payload(), paillier.public.modulus).items():
        with pytest.raises(InputError) as caught:
            public_key_from_payload(payload, allow_small_keys=True)
        assert "must" in str(caught.value), what


def test_hostile_private_keys_raise_one_clear_error(
    paillier: PaillierPrivateKey, other_paillier: PaillierPrivateKey
) -> None:
    honest, n = paillier.to_payload(), paillier.public.modulus
    hostile = {
        "a public key": paillier.public.to_payload(),
        "primes of another key": changed(honest, p=integer(other_paillier.p), q=integer(other_paillier.q)),
        "a trivial factor": changed(honest, p=integer(1), q=integer(n)),
        "zero": changed(honest, p=integer(0)),
        "endless primes": changed(honest, p=integer(paillier.p, 1 << 20)),
        "a generator that is no n-th residue": changed(honest, generator=integer(2)),
    }
    for what, payload in hostile.items():
        with pytest.raises(FileFormatError) as caught:
            private_key_from_payload(payload, allow_small_keys=True)
        assert "must" in str(caught.value), what


def test_composite_and_equal_factors_are_refused(paillier: PaillierPrivateKey) -> None:
    """The larger prime makes a modulus of equal ones as long as a right one; the other is drawn until it is, too."""
    larger = max(paillier.p, paillier.q)
    products = (int(p) * int(q) for p, q in iter(lambda: prime_pair(256), None))
    composite = next(one for one in products if (one * larger).bit_length() == (larger * larger).bit_length())
    for left, right in ((composite, larger), (larger, larger)):
        modulus = left * right
        fields = {"modulus": integer(modulus), "generator": integer(4), "p": integer(left), "q": integer(right)}
        with pytest.raises(FileFormatError, match="prime"):
            private_key_from_payload(changed(paillier.to_payload(), **fields), allow_small_keys=True)


def test_sealed_keys_cannot_be_loaded(sealed: SealedPrivateKey) -> None:
    with pytest.raises(FileFormatError, match="must be a tree of"):
        private_key_from_payload(sealed.to_payload(), allow_small_keys=True)
