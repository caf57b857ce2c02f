"""The ideal functionality: the same integers as under Paillier, in envelopes that only the key holder opens.

For experiments of many epochs. A ciphertext is a 16-byte handle into a vault that lives as long as the key does and
is never saved: a saved transcript shows which ciphertexts are equal and nothing else, and cannot be decrypted.
"""

from __future__ import annotations

import secrets

from fedleak.core.arrays import ByteArray
from fedleak.core.errors import CryptoError, DecryptionError
from fedleak.core.payload import IntegerArray, Scalar, Tree
from fedleak.crypto.cipher import DEFAULT_KEY_BITS, Cipher, PrivateKey, PublicKey, check_key_bits, hash_of_key
from fedleak.crypto.exact_product import exact_products
from fedleak.crypto.fixed_point import centred
from fedleak.crypto.integers import IntegerMatrix
from fedleak.crypto.vault import DEFAULT_CAPACITY, HANDLE_BYTES, RANDOMISER_MODULUS, Envelope, Vault

SCHEME = "sealed"


class SealedPublicKey(PublicKey):
    def __init__(self, modulus: int, vault: Vault) -> None:
        n_bytes = -(-modulus.bit_length() // 8)
        super().__init__(SCHEME, modulus, hash_of_key(SCHEME, modulus.to_bytes(n_bytes, "big")), HANDLE_BYTES)
        self._vault = vault

    def _encrypt(self, residues: list[int]) -> ByteArray:
        return self._vault.put([Envelope(residue, _fresh()) for residue in residues])

    def _add(self, a: ByteArray, b: ByteArray) -> ByteArray:
        pairs = zip(self._open(a), self._open(b), strict=True)
        return self._seal([(x.plaintext + y.plaintext, x.randomiser + y.randomiser) for x, y in pairs])

    def _add_residues(self, a: ByteArray, residues: list[int]) -> ByteArray:
        pairs = zip(self._open(a), residues, strict=True)
        return self._seal([(x.plaintext + residue, x.randomiser) for x, residue in pairs])

    def _multiply(self, a: ByteArray, scalars: list[int]) -> ByteArray:
        pairs = zip(self._open(a), scalars, strict=True)
        return self._seal([(x.plaintext * k, x.randomiser * k) for x, k in pairs])

    def _matvec(self, matrix: IntegerMatrix, c: ByteArray) -> ByteArray:
        envelopes = self._open(c)
        # small negative plaintexts are residues near n: around zero they are short, and the product is fast
        signed = [centred(x.plaintext, self.modulus) for x in envelopes]
        plaintexts, randomisers = exact_products(matrix, [signed, [x.randomiser for x in envelopes]])
        return self._seal(list(zip(plaintexts, randomisers, strict=True)))

    def _rerandomise(self, c: ByteArray) -> ByteArray:
        return self._vault.put([Envelope(x.plaintext, _fresh()) for x in self._open(c)])

    def _open(self, data: ByteArray) -> list[Envelope]:
        return self._vault.get(data, CryptoError)

    def _seal(self, contents: list[tuple[int, int]]) -> ByteArray:
        return self._vault.put([Envelope(m % self.modulus, r % RANDOMISER_MODULUS) for m, r in contents])

    def to_payload(self) -> Tree:
        return Tree(
            {"scheme": Scalar(SCHEME), "modulus": IntegerArray.from_ints([self.modulus], self.n_bytes)},
        )


class SealedPrivateKey(PrivateKey):
    def __init__(self, public: SealedPublicKey, vault: Vault) -> None:
        super().__init__(public)
        self._vault = vault

    def _decrypt(self, data: ByteArray) -> list[int]:
        return [envelope.plaintext for envelope in self._vault.get(data, DecryptionError)]

    def to_payload(self) -> Tree:
        """The public key alone: there is no secret number, and the vault that stands for it is not saved."""
        return self.public.to_payload()


class Sealed(Cipher):
    """Ideal encryption: fast, and as secure as the process it runs in."""

    name = SCHEME

    def __init__(self, *, allow_small_keys: bool = False, vault_capacity: int = DEFAULT_CAPACITY) -> None:
        super().__init__(allow_small_keys=allow_small_keys)
        self.vault_capacity = vault_capacity

    def generate(self, key_bits: int = DEFAULT_KEY_BITS) -> SealedPrivateKey:
        check_key_bits(key_bits, allow_small_keys=self.allow_small_keys)
        modulus = secrets.randbits(key_bits) | 1 << (key_bits - 1) | 1
        vault = Vault(-(-key_bits // 8), self.vault_capacity)
        return SealedPrivateKey(SealedPublicKey(modulus, vault), vault)


def _fresh() -> int:
    return secrets.randbelow(RANDOMISER_MODULUS)
