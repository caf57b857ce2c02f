"""Paillier's keys from payloads, which may come from strangers: sizes are bounded before any arithmetic."""

from __future__ import annotations

from fedleak.core.errors import FileFormatError
from fedleak.core.payload import IntegerArray, Payload, Scalar, Tree
from fedleak.crypto.bigint import Mpz, gcd, is_prime, powmod
from fedleak.crypto.blinded_points import SECRET_FIELDS
from fedleak.crypto.cipher import MAX_KEY_BITS, check_key_bits
from fedleak.crypto.paillier_cipher import PRIMALITY_ROUNDS, SCHEME, PaillierPrivateKey, PaillierPublicKey

PUBLIC_KEY_FIELDS = {"scheme", "modulus", "generator"}
PRIVATE_KEY_FIELDS = PUBLIC_KEY_FIELDS | {"p", "q"}


def public_key_from_payload(payload: Payload, *, allow_small_keys: bool = False) -> PaillierPublicKey:
    return _checked_public_key(_checked_fields(payload, PUBLIC_KEY_FIELDS), allow_small_keys)


def private_key_from_payload(payload: Payload, *, allow_small_keys: bool = False) -> PaillierPrivateKey:
    tree = _checked_fields(payload, PRIVATE_KEY_FIELDS)
    public = _checked_public_key(tree, allow_small_keys)
    p, q = _bounded_integer(tree, "p", MAX_KEY_BITS), _bounded_integer(tree, "q", MAX_KEY_BITS)
    if p * q != public.modulus or p == q:
        raise FileFormatError("a Paillier private key must have two different primes p and q with p·q = n")
    if not (is_prime(p, PRIMALITY_ROUNDS) and is_prime(q, PRIMALITY_ROUNDS)):
        raise FileFormatError("a Paillier private key must have prime p and q; got a composite")
    order = (p - 1) * (q - 1)
    if gcd(public.modulus, order) != 1:
        raise FileFormatError("a Paillier modulus must have no factor in common with (p-1)(q-1)")
    n = Mpz(public.modulus)
    if powmod(Mpz(public.generator), order, n * n) != 1:
        raise FileFormatError("the generator of a Paillier key must be an n-th residue modulo n²; it is not")
    return PaillierPrivateKey(public, p, q)


def is_private_key(payload: Payload) -> bool:
    """Whether it has both primes in it, or the factor of blinded points; the ideal cipher's key has neither, and opens
    nothing elsewhere."""
    return isinstance(payload, Tree) and set(payload.items) in (PRIVATE_KEY_FIELDS, SECRET_FIELDS)


def _checked_public_key(tree: Tree, allow_small_keys: bool) -> PaillierPublicKey:
    modulus = _bounded_integer(tree, "modulus", MAX_KEY_BITS)
    check_key_bits(modulus.bit_length(), allow_small_keys=allow_small_keys)
    if modulus % 2 == 0 or is_prime(modulus, 1):
        raise FileFormatError("a Paillier modulus must be an odd product of two primes")
    generator = _bounded_integer(tree, "generator", 2 * MAX_KEY_BITS)
    if not 1 < generator < modulus**2 - 1 or gcd(generator, modulus) != 1:
        raise FileFormatError("the generator of a Paillier key must be a unit modulo n² other than 1 and -1")
    return PaillierPublicKey(modulus, generator)


def _checked_fields(payload: Payload, names: set[str]) -> Tree:
    if not isinstance(payload, Tree) or set(payload.items) != names:
        found = sorted(payload.items) if isinstance(payload, Tree) else type(payload).__name__
        raise FileFormatError(f"a Paillier key must be a tree of {sorted(names)}; got {found}")
    scheme = payload.items["scheme"]
    if not isinstance(scheme, Scalar) or scheme.value != SCHEME:
        raise FileFormatError(f"the scheme of a Paillier key must be {SCHEME!r}; got {scheme}")
    return payload


def _bounded_integer(tree: Tree, name: str, max_bits: int) -> int:
    value = tree.items[name]
    if not isinstance(value, IntegerArray) or value.shape != (1,) or value.data.shape[1] > max_bits // 8:
        raise FileFormatError(f"{name} of a Paillier key must be one integer of at most {max_bits} bits")
    return value.to_ints()[0]
