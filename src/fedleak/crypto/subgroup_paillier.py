"""Paillier's fast variant: random factors from a small subgroup, so that a short power opens a ciphertext.

After Paillier 1999, section 6: p - 1 = 2ak with a prime a, q - 1 = 2bl with a prime b, and h an n-th residue of order
ab. Ciphertexts (1 + mn) h^r look like those of the plain scheme. c^a modulo p² has lost its random factor, where the
plain scheme takes c^(p-1): a has a quarter of the bits of p. What was not blinded by powers of h raises.

That powers of h hide plaintexts is an assumption beyond the plain scheme's, Paillier's "partial discrete logarithm".
Whoever finds a or b factors n, in about 2^(bits of a / 2) steps (Coron, Joux, Mandal, Naccache and Tibouchi 2011).
"""

from __future__ import annotations

import secrets

from fedleak.crypto.bigint import Mpz, gcd, invert, is_prime, powmod
from fedleak.crypto.cipher import DEFAULT_KEY_BITS, Cipher, check_key_bits
from fedleak.crypto.paillier_cipher import (
    CLOSE_PRIMES_BITS,
    PRIMALITY_ROUNDS,
    PaillierPrivateKey,
    PaillierPublicKey,
    random_prime,
)

ORDER_BITS = 256  # of a and b: 2^128 steps to find one
STATISTICAL_BITS = 128  # exponents that are so much longer than the order give powers that are as good as uniform


class SubgroupPaillier(Cipher):
    """The same plaintexts and message shapes as ``Paillier``; decryption is several times as fast."""

    name = "paillier-subgroup"
    assumption = (
        f'keys were drawn with subgroups of {ORDER_BITS} bits (cipher = "{name}"): that ciphertexts hide what is in '
        "them rests on an assumption beyond plain Paillier's, Paillier's partial discrete logarithm in small subgroups"
    )

    def generate(self, key_bits: int = DEFAULT_KEY_BITS) -> PaillierPrivateKey:
        check_key_bits(key_bits, allow_small_keys=self.allow_small_keys)
        bits = min(ORDER_BITS, key_bits // 4)  # fewer only of keys that tests allow
        while True:
            (p, a), (q, b) = (_prime_with_subgroup(key_bits // 2, bits) for _ in range(2))
            far_apart = abs(int(p - q)).bit_length() > key_bits // 2 - CLOSE_PRIMES_BITS
            if far_apart and a != b and gcd(p - 1, q - 1) == 2 and gcd(p * q, (p - 1) * (q - 1)) == 1:
                break
        exponent_bytes = -(-(2 * bits + STATISTICAL_BITS) // 8)
        public = PaillierPublicKey(int(p * q), _generator(p, q, a, b), exponent_bytes)
        return PaillierPrivateKey(public, int(p), int(q), orders=(int(a), int(b)))


def _prime_with_subgroup(bits: int, order_bits: int) -> tuple[Mpz, Mpz]:
    """p = 2ak + 1 with k odd, so that p is 3 modulo 4; its two highest bits are set."""
    order = random_prime(order_bits)
    low, high = ((edge << (bits - 2)) // (2 * int(order)) for edge in (3, 4))
    while True:
        cofactor = (low + 1 + secrets.randbelow(high - low)) | 1
        prime = 2 * order * cofactor + 1
        if prime.bit_length() == bits and is_prime(prime, PRIMALITY_ROUNDS):
            return prime, order


def _generator(p: Mpz, q: Mpz, a: Mpz, b: Mpz) -> int:
    """y^n mod n² with y of order a modulo p and b modulo q: both are prime, so any power but 1 has that order."""
    n = p * q
    y_p, y_q = _of_order(p, a), _of_order(q, b)
    y = y_q + (y_p - y_q) * invert(q, p) % p * q
    return int(powmod(y, n, n * n))


def _of_order(prime: Mpz, order: Mpz) -> Mpz:
    while True:
        found = powmod(Mpz(secrets.randbelow(int(prime) - 2) + 2), int((prime - 1) // order), prime)
        if found != 1:
            return found
