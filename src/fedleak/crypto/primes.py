"""The primes of a Paillier key, as Damgård, Jurik and Nielsen (2010) want them."""

from __future__ import annotations

import secrets

from fedleak.crypto.bigint import Mpz, gcd, is_prime

PRIMALITY_ROUNDS = 40  # an error of at most 4^-40, even for numbers chosen against the test
CLOSE_PRIMES_BITS = 100  # primes that agree in this many leading bits would fall to Fermat's factoring


def prime_pair(key_bits: int) -> tuple[Mpz, Mpz]:
    """Two primes, both 3 modulo 4, whose product has exactly ``key_bits`` bits.

    gcd(p-1, q-1) = 2, so that the squares modulo n form a cyclic group; -1 is then no square in it.
    """
    half = key_bits // 2
    while True:
        p, q = _prime(half), _prime(half)
        far_apart = abs(int(p - q)).bit_length() > half - CLOSE_PRIMES_BITS
        if far_apart and gcd(p - 1, q - 1) == 2 and gcd(p * q, (p - 1) * (q - 1)) == 1:
            return p, q


def _prime(bits: int) -> Mpz:
    top_two = 3 << (bits - 2)  # so that the product of two has 2·bits bits
    while True:
        candidate = Mpz(secrets.randbits(bits) | top_two | 3)
        if is_prime(candidate, PRIMALITY_ROUNDS):
            return candidate
