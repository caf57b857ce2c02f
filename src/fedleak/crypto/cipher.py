"""What protocols compute with: additively homomorphic encryption of integers modulo n, elementwise.

A key checks every argument here, once for all ciphers; a cipher implements the seven operations on rows of bytes.
Operations other than encryption and ``rerandomise`` are deterministic: what they give must be re-randomised
before it is sent, or whoever sees it can compare it with what went in.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedleak.core.arrays import ByteArray, IntArray
from fedleak.core.errors import CryptoError, DecryptionError, KeySizeError
from fedleak.core.payload import CipherArray, Tree
from fedleak.crypto.fixed_point import (
    MARGIN_BITS,
    IntegerMatrix,
    Integers,
    as_integers,
    as_matrix,
    check_residues,
    check_signed,
)

DEFAULT_KEY_BITS = 2048
MIN_KEY_BITS = 1024
MIN_SMALL_KEY_BITS = 256
MAX_KEY_BITS = 8192
CIPHER_CHOICES = ("paillier", "sealed", "paillier-subgroup")
CIPHER_MEANING = (
    "the real cipher, its ideal counterpart, or the real one with keys of small subgroups: several times as fast to "
    "decrypt, on a further assumption"
)


class PublicKey(ABC):
    """Encrypts, and computes on ciphertexts. Plaintexts are integers modulo ``modulus``, signed around zero."""

    def __init__(self, scheme: str, modulus: int, key_id: str, ciphertext_bytes: int) -> None:
        self.scheme = scheme
        self.modulus = modulus
        self.key_id = key_id
        self.key_bits = modulus.bit_length()
        self.n_bytes = -(-self.key_bits // 8)
        self.ciphertext_bytes = ciphertext_bytes

    def encrypt(self, values: Integers, fraction_bits: int) -> CipherArray:
        """Encrypts signed integers with fresh randomness. Each stays 128 bits below the modulus: two near half of it
        would add up to a small number that looks like any other, and 2^126 of these cannot wrap."""
        signed = check_signed("plaintexts", as_integers(values), 1 << self.key_bits - MARGIN_BITS)
        return self._wrap(self._encrypt([value % self.modulus for value in signed]), fraction_bits)

    def encrypt_residues(self, values: Integers, fraction_bits: int) -> CipherArray:
        """Encrypts integers in [0, modulus), such as masks that are uniform there."""
        return self._wrap(self._encrypt(check_residues(as_integers(values), self.modulus)), fraction_bits)

    def add(self, a: CipherArray, b: CipherArray) -> CipherArray:
        self._check(a)
        self._check(b)
        if a.shape != b.shape:
            raise CryptoError(f"ciphertexts to add must have one shape; got {a.shape} and {b.shape}")
        if a.fraction_bits != b.fraction_bits:
            raise CryptoError(
                f"ciphertexts to add must have equal fraction_bits; got {a.fraction_bits} and {b.fraction_bits}"
            )
        return self._wrap(self._add(a.data, b.data), a.fraction_bits, a.shape)

    def add_residues(self, a: CipherArray, residues: Integers) -> CipherArray:
        """Adds plaintext integers, each from -modulus to modulus, modulo it."""
        self._check(a)
        addends = check_signed("addends", self._one_each(a, as_integers(residues)), self.modulus + 1)
        shifted = self._add_residues(a.data, [addend % self.modulus for addend in addends])
        return self._wrap(shifted, a.fraction_bits, a.shape)

    def multiply(self, a: CipherArray, scalars: Integers, *, scalar_fraction_bits: int = 0) -> CipherArray:
        """Multiplies elementwise by signed integers, 128 bits below the modulus as plaintexts are: twice one near half
        of it would pass for a small number."""
        self._check(a)
        factors = check_signed("scalars", self._one_each(a, as_integers(scalars)), 1 << self.key_bits - MARGIN_BITS)
        return self._wrap(self._multiply(a.data, factors), a.fraction_bits + scalar_fraction_bits, a.shape)

    def matvec(self, matrix: IntegerMatrix, c: CipherArray, *, scalar_fraction_bits: int = 0) -> CipherArray:
        """The product of a (d, s) matrix of signed integers and s ciphertexts: d ciphertexts.

        Modulo n: entries may be as long as half of it, which packing needs. Whoever decodes what long entries gave
        knows how long it may be (``packing``); for numbers, ``Protocol.check_headroom`` says so before a run.
        """
        self._check(c)
        scalars = as_matrix(matrix, self.modulus)
        if c.shape != (scalars.shape[1],):
            raise CryptoError(f"matvec needs one ciphertext a column, shape ({scalars.shape[1]},); got {c.shape}")
        return self._wrap(self._matvec(scalars, c.data), c.fraction_bits + scalar_fraction_bits)

    def grouped_sum(self, c: CipherArray, groups: IntArray, n_groups: int, *, n_running: int = 0) -> CipherArray:
        """Sums of ciphertexts by group, for each of several groupings: (groupings, n_groups).

        ``groups`` is (groupings, ciphertexts). Of the first ``n_running`` groups each sum has those before it in it.
        The sum of an empty group is zero under no randomness at all:
        re-randomise what is sent.
        """
        self._check(c)
        if groups.ndim != 2 or groups.shape[1:] != c.shape or groups.dtype.kind not in "iu":
            raise CryptoError(f"groups must be integers, one a ciphertext, (n, {len(c.data)}); got {groups.shape}")
        if n_groups < 1 or (groups.size and not (groups.min() >= 0 and groups.max() < n_groups)):
            raise CryptoError(f"groups must be from 0 to {n_groups - 1}; got others")
        if not 0 <= n_running <= n_groups:
            raise CryptoError(f"n_running must be from 0 to the {n_groups} groups; got {n_running}")
        summed = self._grouped_sum(c.data, groups.tolist(), n_groups, n_running)
        return self._wrap(summed, c.fraction_bits, (len(groups), n_groups))

    def rerandomise(self, c: CipherArray) -> CipherArray:
        """The same plaintexts in ciphertexts that cannot be linked to these."""
        self._check(c)
        return self._wrap(self._rerandomise(c.data), c.fraction_bits, c.shape)

    @abstractmethod
    def to_payload(self) -> Tree: ...

    @abstractmethod
    def _encrypt(self, residues: list[int]) -> ByteArray: ...

    @abstractmethod
    def _add(self, a: ByteArray, b: ByteArray) -> ByteArray: ...

    @abstractmethod
    def _add_residues(self, a: ByteArray, residues: list[int]) -> ByteArray: ...

    @abstractmethod
    def _multiply(self, a: ByteArray, scalars: list[int]) -> ByteArray: ...

    @abstractmethod
    def _matvec(self, matrix: IntegerMatrix, c: ByteArray) -> ByteArray: ...

    @abstractmethod
    def _grouped_sum(self, c: ByteArray, groups: list[list[int]], n_groups: int, n_running: int) -> ByteArray: ...

    @abstractmethod
    def _rerandomise(self, c: ByteArray) -> ByteArray: ...

    def _wrap(self, data: ByteArray, fraction_bits: int, shape: tuple[int, ...] | None = None) -> CipherArray:
        if fraction_bits < 0:
            raise CryptoError(f"fraction_bits must not be negative; got {fraction_bits}")
        return CipherArray(self.key_id, self.scheme, data, (len(data),) if shape is None else shape, fraction_bits)

    def _check(self, c: CipherArray) -> None:
        _check_one_scale(c)
        check_key(self, c, CryptoError)

    def _one_each(self, a: CipherArray, values: list[int]) -> list[int]:
        if len(values) != len(a.data):
            raise CryptoError(f"there must be one integer a ciphertext, {len(a.data)}; got {len(values)}")
        return values


class PrivateKey(ABC):
    """Opens ciphertexts, or raises: it never returns a number for something that is not a ciphertext."""

    def __init__(self, public: PublicKey) -> None:
        self.public = public

    def decrypt(self, c: CipherArray) -> list[int]:
        """The plaintexts in [0, modulus), in row-major order."""
        check_key(self.public, c, DecryptionError)
        return self._decrypt(c.data)

    @abstractmethod
    def to_payload(self) -> Tree: ...

    @abstractmethod
    def _decrypt(self, data: ByteArray) -> list[int]: ...


class Cipher(ABC):
    """A scheme by name. Small keys mean nothing; a test that wants speed says so with ``allow_small_keys``."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    assumption: ClassVar[str] = ""  # what its secrecy rests on beyond the usual; reports say it

    def __init__(self, *, allow_small_keys: bool = False) -> None:
        self.allow_small_keys = allow_small_keys

    @abstractmethod
    def generate(self, key_bits: int = DEFAULT_KEY_BITS) -> PrivateKey:
        """A fresh key whose modulus has exactly ``key_bits`` bits; the randomness is the operating system's."""


def short_key(key_bits: int | None) -> str:
    """What keys of that length are worth, where it is too little; empty otherwise."""
    if key_bits is None or key_bits >= DEFAULT_KEY_BITS:
        return ""
    return (
        f"its keys have {key_bits} bits: keys below {DEFAULT_KEY_BITS} bits can be broken, so what is said here holds "
        "for longer ones only"
    )


def check_key_bits(key_bits: int, *, allow_small_keys: bool) -> None:
    smallest = MIN_SMALL_KEY_BITS if allow_small_keys else MIN_KEY_BITS
    if key_bits % 2 or not smallest <= key_bits <= MAX_KEY_BITS:
        raise KeySizeError(
            f"key_bits must be even, from {smallest} to {MAX_KEY_BITS}; got {key_bits}. "
            f"Use {DEFAULT_KEY_BITS}: smaller keys can be broken"
        )


def check_key(key: PublicKey, c: CipherArray, error: type[CryptoError]) -> None:
    if c.scheme != key.scheme:
        raise error(f"ciphertexts must be of the scheme {key.scheme}; got {c.scheme}")
    if c.key_id != key.key_id:
        raise error(f"ciphertexts must be under the key {key.key_id[:16]}; got {c.key_id[:16]}")
    if c.data.shape[1] != key.ciphertext_bytes:
        raise error(f"a ciphertext must have {key.ciphertext_bytes} bytes; got {c.data.shape[1]}")


def _check_one_scale(c: CipherArray) -> None:
    """Our arithmetic has one scale for all ciphertexts of an array; whoever opens others scales them itself."""
    if c.exponents is not None or c.signs is not None:
        raise CryptoError("ciphertexts to compute with must have one scale; got exponents or signs of their own")


def hash_of_key(scheme: str, *parts: bytes) -> str:
    """A key's identity: equal for equal public keys, and only those."""
    return hashlib.sha256(repr((scheme, parts)).encode()).hexdigest()


def select(c: CipherArray, indices: Sequence[int] | slice) -> CipherArray:
    """Some of the ciphertexts, in the order of the indices (into the flattened array)."""
    _check_one_scale(c)
    rows = c.data[indices if isinstance(indices, slice) else list(indices)]
    return CipherArray(c.key_id, c.scheme, rows, (len(rows),), c.fraction_bits)


def concatenate(parts: Sequence[CipherArray]) -> CipherArray:
    """All the ciphertexts of all parts, one after the other; they must be alike in key and fraction bits."""
    kinds = {(part.scheme, part.key_id, part.fraction_bits, part.data.shape[1]) for part in parts}
    if len(kinds) != 1:
        raise CryptoError(f"ciphertexts to concatenate must have one key and one scale; got {len(kinds)} kinds")
    for part in parts:
        _check_one_scale(part)
    data = np.concatenate([part.data for part in parts])
    return CipherArray(parts[0].key_id, parts[0].scheme, data, (len(data),), parts[0].fraction_bits)
