"""Paillier's cryptosystem with g = n + 1: c = (1 + mn)·r^n mod n² (Paillier 1999, scheme 1).

The randomness is that of Damgård, Jurik and Nielsen (2010): r^n is a random power, with an
exponent of half the key's bits, of a public n-th residue h; a table of powers of h makes it cheap.
Decryption works modulo p² and q² (Paillier 1999, section 7). It is not hardened against timing
(docs/decisions/0026-no-constant-time.md): for audits, not for services that decrypt what strangers send.
"""

from __future__ import annotations

import secrets
from functools import cached_property, lru_cache

import numpy as np

from fedleak.core.arrays import ByteArray
from fedleak.core.errors import CryptoError, DecryptionError
from fedleak.core.payload import IntegerArray, Scalar, Tree
from fedleak.crypto.bigint import Mpz, from_rows, gcd, invert, is_prime, powmod, powmod_base_list, to_rows
from fedleak.crypto.blinding_stock import BlindingStock
from fedleak.crypto.cipher import (
    DEFAULT_KEY_BITS,
    Cipher,
    PrivateKey,
    PublicKey,
    check_key_bits,
    hash_of_key,
)
from fedleak.crypto.cores import shares, side_by_side, spread
from fedleak.crypto.fixed_point import IntegerMatrix
from fedleak.crypto.multi_exponentiation import matrix_product
from fedleak.crypto.unit_group import Factor, FixedBaseTable, UnitGroup

SCHEME = "paillier"
LEAST_ENCRYPTIONS, LEAST_ADDITIONS = 1_000, 20_000  # that are worth a part of their own: 0.5 s and 0.1 s at 2048 bits
NO_CIPHERTEXT = (
    "a ciphertext must be a unit modulo n² under this key's own randomness; got one that shares a factor with n, "
    "or was blinded otherwise"
)
STOCKED_FROM_BITS = 1024  # below, a random factor is sooner made than read from another process


class PaillierPublicKey(PublicKey):
    """n and the generator h of the randomness; ``sent_keys`` checks a key that comes from elsewhere.

    ``exponent_bytes`` are those of random powers of h: half of the key's where nothing else is known of its order.
    """

    def __init__(self, modulus: int, generator: int, exponent_bytes: int | None = None) -> None:
        n_bytes = -(-modulus.bit_length() // 8)
        parts = modulus.to_bytes(n_bytes, "big"), generator.to_bytes(2 * n_bytes, "big")
        super().__init__(SCHEME, modulus, hash_of_key(SCHEME, *parts), 2 * n_bytes)
        self.generator = generator
        self._exponent_bytes = -(-self.key_bits // 16) if exponent_bytes is None else exponent_bytes
        self._group = UnitGroup(Mpz(modulus))

    def __reduce__(self) -> tuple[object, ...]:
        """Without the table of powers, which whoever gets the key several times makes once."""
        return _known_key, (self.modulus, self.generator, self._exponent_bytes)

    @cached_property
    def _powers(self) -> FixedBaseTable:
        return FixedBaseTable(self._group, Mpz(self.generator), self._exponent_bytes)

    def prepare(self) -> None:
        """Builds the table of powers now, rather than at the first encryption."""
        _ = self._powers

    @cached_property
    def _stock(self) -> BlindingStock:
        return BlindingStock(self.blindings)

    def blindings(self, count: int) -> list[Factor]:
        """Random factors r^n, in halves (``unit_group``)."""
        return [self._powers.power(secrets.token_bytes(self._exponent_bytes)) for _ in range(count)]

    def _blindings(self, count: int) -> list[Factor]:
        return self._stock.take(count) if self.key_bits >= STOCKED_FROM_BITS else self.blindings(count)

    def _encrypt(self, residues: list[int]) -> ByteArray:
        parts = [residues[part] for part in shares(len(residues), LEAST_ENCRYPTIONS)]
        return np.concatenate(spread(self._encrypted, parts))

    def _encrypted(self, residues: list[int]) -> ByteArray:
        join = self._group.join
        ciphertexts = []
        for residue, (product, slope) in zip(residues, self._blindings(len(residues)), strict=True):
            # (1 + mn)·product·(1 + slope·n) = product·(1 + (m + slope)·n): the plaintext costs nothing
            ciphertexts.append(join(product, slope + residue))
        return self._store(ciphertexts)

    def _add(self, a: ByteArray, b: ByteArray) -> ByteArray:
        n_squared = self._group.n_squared
        return self._store([x * y % n_squared for x, y in zip(self.load(a), self.load(b), strict=True)])

    def _add_residues(self, a: ByteArray, residues: list[int]) -> ByteArray:
        join = self._group.join
        return self._store([join(x, residue) for x, residue in zip(self.load(a), residues, strict=True)])

    def _multiply(self, a: ByteArray, scalars: list[int]) -> ByteArray:
        return self._store([self._group.power(x, k) for x, k in zip(self.load(a), scalars, strict=True)])

    def _matvec(self, matrix: IntegerMatrix, c: ByteArray) -> ByteArray:
        return self._store(matrix_product(self._group, matrix, self.load(c)))

    def _grouped_sum(self, c: ByteArray, groups: list[list[int]], n_groups: int, n_running: int) -> ByteArray:
        """Rows in parts, whose sums are added up: products modulo n² are the same in any order, to the bit."""
        rows = shares(len(c), -(-LEAST_ADDITIONS // max(len(groups), 1)))
        parts = [(c[part], [grouping[part] for grouping in groups], n_groups) for part in rows]
        n_squared = self._group.n_squared
        sums, *others = map(self.load, spread(self._sums_of_part, parts))
        for other in others:
            sums = [a * b % n_squared for a, b in zip(sums, other, strict=True)]
        for start in range(0, len(sums), n_groups):
            for place in range(start + 1, start + n_running):
                sums[place] = sums[place - 1] * sums[place] % n_squared
        return self._store(sums)

    def _sums_of_part(self, part: tuple[ByteArray, list[list[int]], int]) -> ByteArray:
        """From bytes once and back once: the additions between are on integers, a third of the time."""
        data, groups, n_groups = part
        n_squared, values = self._group.n_squared, self.load(data)
        found: list[Mpz] = []
        for grouping in groups:
            sums = [Mpz(1)] * n_groups
            for group, value in zip(grouping, values, strict=True):
                sums[group] = sums[group] * value % n_squared
            found += sums
        return self._store(found)

    def _rerandomise(self, c: ByteArray) -> ByteArray:
        n_squared, join = self._group.n_squared, self._group.join
        ciphertexts = []
        for value, (product, slope) in zip(self.load(c), self._blindings(len(c)), strict=True):
            ciphertexts.append(join(value * product % n_squared, slope))
        return self._store(ciphertexts)

    def load(self, data: ByteArray, error: type[CryptoError] = CryptoError) -> list[Mpz]:
        """The ciphertexts as integers; those outside (0, n²) are an ``error``."""
        values = from_rows(data.tobytes(), self.ciphertext_bytes)
        n_squared = self._group.n_squared
        if values and not (min(values) > 0 and max(values) < n_squared):
            raise error("a ciphertext must be between 0 and n²; got one outside, so it was damaged or made up")
        return values

    def _store(self, values: list[Mpz]) -> ByteArray:
        packed = to_rows(values, self.ciphertext_bytes)
        return np.frombuffer(packed, dtype=np.uint8).reshape(len(values), self.ciphertext_bytes)

    def to_payload(self) -> Tree:
        return Tree(
            {
                "scheme": Scalar(SCHEME),
                "modulus": IntegerArray.from_ints([self.modulus], self.n_bytes),
                "generator": IntegerArray.from_ints([self.generator], 2 * self.n_bytes),
            }
        )


@lru_cache(maxsize=2)
def _known_key(modulus: int, generator: int, exponent_bytes: int) -> PaillierPublicKey:
    return PaillierPublicKey(modulus, generator, exponent_bytes)


class PaillierPrivateKey(PrivateKey):
    """``orders``: of the public generator modulo p and q, where they are known to be less than p - 1 and q - 1."""

    public: PaillierPublicKey

    def __init__(self, public: PaillierPublicKey, p: int, q: int, *, orders: tuple[int, int] | None = None) -> None:
        super().__init__(public)
        self.p, self.q = p, q
        modulo_p, modulo_q = orders or (p - 1, q - 1)
        self._halves = _DecryptionHalf(Mpz(p), Mpz(q), modulo_p), _DecryptionHalf(Mpz(q), Mpz(p), modulo_q)
        self._q_inverse = invert(q, p)

    def _decrypt(self, data: ByteArray) -> list[int]:
        ciphertexts = self.public.load(data, DecryptionError)
        modulo_p, modulo_q = side_by_side(lambda half: half.decrypt(ciphertexts), self._halves)
        p, q, q_inverse = Mpz(self.p), Mpz(self.q), self._q_inverse
        # Chinese remainders (Paillier 1999, section 7)
        return [int(m_q + (m_p - m_q) * q_inverse % p * q) for m_p, m_q in zip(modulo_p, modulo_q, strict=True)]

    def to_payload(self) -> Tree:
        """The public key and both primes: whoever reads it can decrypt."""
        width = -(-max(self.p, self.q).bit_length() // 8)
        primes = {"p": IntegerArray.from_ints([self.p], width), "q": IntegerArray.from_ints([self.q], width)}
        return Tree({**self.public.to_payload().items, **primes})


class _DecryptionHalf:
    """Decryption modulo one of the primes, by a power that takes every random factor to 1."""

    def __init__(self, prime: Mpz, other: Mpz, exponent: int) -> None:
        self._prime = prime
        self._exponent = Mpz(exponent)
        self._square = prime * prime
        # h_p = L_p(g^e mod p²)^(-1) mod p (Paillier 1999, section 7); g = 1 + pq makes L_p(...) = e q
        self._h = invert(exponent * other % prime, prime)

    def decrypt(self, ciphertexts: list[Mpz]) -> list[Mpz]:
        plaintexts = []
        for power in powmod_base_list(ciphertexts, self._exponent, self._square):
            quotient, remainder = divmod(power - 1, self._prime)
            if remainder:  # c^e = 1 modulo p for every c that p does not divide: Fermat, or the order of h
                raise DecryptionError(NO_CIPHERTEXT)
            plaintexts.append(quotient * self._h % self._prime)
        return plaintexts


class Paillier(Cipher):
    """Real ciphertexts; the default."""

    name = SCHEME

    def generate(self, key_bits: int = DEFAULT_KEY_BITS) -> PaillierPrivateKey:
        check_key_bits(key_bits, allow_small_keys=self.allow_small_keys)
        p, q = prime_pair(key_bits)
        return PaillierPrivateKey(PaillierPublicKey(int(p * q), _generator(p * q)), int(p), int(q))


def _generator(n: Mpz) -> int:
    """h^n mod n² with h = -x² for a random unit x (Damgård, Jurik and Nielsen 2010)."""
    while True:
        x = Mpz(secrets.randbelow(int(n)))
        if gcd(x, n) == 1:
            return int(powmod(-x * x % n, n, n * n))


PRIMALITY_ROUNDS = 40  # an error of at most 4^-40, even for numbers chosen against the test
CLOSE_PRIMES_BITS = 100  # primes that agree in this many leading bits would fall to Fermat's factoring


def prime_pair(key_bits: int) -> tuple[Mpz, Mpz]:
    """Two primes, both 3 modulo 4, whose product has exactly ``key_bits`` bits.

    gcd(p-1, q-1) = 2, so that the squares modulo n form a cyclic group; -1 is then no square in it.
    """
    half = key_bits // 2
    while True:
        p, q = random_prime(half), random_prime(half)
        far_apart = abs(int(p - q)).bit_length() > half - CLOSE_PRIMES_BITS
        if far_apart and gcd(p - 1, q - 1) == 2 and gcd(p * q, (p - 1) * (q - 1)) == 1:
            return p, q


def random_prime(bits: int) -> Mpz:
    top_two = 3 << (bits - 2)  # so that the product of two has 2·bits bits
    while True:
        candidate = Mpz(secrets.randbits(bits) | top_two | 3)
        if is_prime(candidate, PRIMALITY_ROUNDS):
            return candidate
