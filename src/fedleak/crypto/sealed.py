"""The ideal functionality: the same integers as under Paillier, in envelopes that only the key holder opens.

For experiments of many epochs. A ciphertext is a 16-byte handle into a vault that lives as long as the key does and
is never saved: a saved transcript shows which ciphertexts are equal and nothing else, and cannot be decrypted.
Products of matrices and long integers are exact at the speed of floating-point BLAS: both sides are cut into limbs so
short that every sum of limb products stays under 2^53, where float64 is exact.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedleak.core.arrays import ByteArray, FloatArray, IntArray
from fedleak.core.errors import CryptoError, DecryptionError
from fedleak.core.payload import IntegerArray, Scalar, Tree
from fedleak.crypto.cipher import DEFAULT_KEY_BITS, Cipher, PrivateKey, PublicKey, check_key_bits, hash_of_key
from fedleak.crypto.fixed_point import IntegerMatrix, as_word_matrix, centred

HANDLE_BYTES = 16
RANDOMISER_MODULUS = (1 << 128) - 159  # a prime: no scalar but its multiples makes a randomiser vanish
DEFAULT_CAPACITY = 1 << 18


class Envelope(NamedTuple):
    """What a Paillier ciphertext (1 + n)^plaintext · r^n is made of: two exponents that add up when it multiplies."""

    plaintext: int  # modulo n
    randomiser: int  # modulo RANDOMISER_MODULUS, in the place of log r


class Vault:
    """Envelopes by handle.

    A handle is a keyed hash of its envelope. Hence two handles are equal exactly where two Paillier ciphertexts
    would be: the same sum in another order, the same product by another way, without re-randomisation.

    At least the ``capacity`` most recently used envelopes are kept; older ones are forgotten in bulk, so a run of any
    length holds at most twice the capacity and the largest array (some 300 MB at 2^18 and 2048 bits).
    """

    def __init__(self, plaintext_bytes: int, capacity: int = DEFAULT_CAPACITY) -> None:
        self._plaintext_bytes = plaintext_bytes
        self._capacity = capacity
        self._hash_key = secrets.token_bytes(32)
        self._recent: dict[bytes, Envelope] = {}
        self._older: dict[bytes, Envelope] = {}

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def put(self, envelopes: Sequence[Envelope]) -> ByteArray:
        handles = [self._handle(envelope) for envelope in envelopes]
        self._keep(dict(zip(handles, envelopes, strict=True)))
        return np.frombuffer(b"".join(handles), dtype=np.uint8).reshape(len(handles), HANDLE_BYTES)

    def get(self, data: ByteArray, error: type[CryptoError]) -> list[Envelope]:
        packed = data.tobytes()
        found = {}
        handles = [packed[start : start + HANDLE_BYTES] for start in range(0, len(packed), HANDLE_BYTES)]
        for handle in handles:
            envelope = self._recent.get(handle) or self._older.get(handle)
            if envelope is None:
                raise error(
                    f"a sealed ciphertext must be a handle into its key's vault; got one that is not there: made up, "
                    f"or unused while {self._capacity} others were made (Sealed takes a larger vault_capacity)"
                )
            found[handle] = envelope
        self._keep(found)
        return [found[handle] for handle in handles]

    def _keep(self, envelopes: dict[bytes, Envelope]) -> None:
        if len(self._recent) >= self._capacity:
            self._older, self._recent = self._recent, {}
        self._recent.update(envelopes)

    def _handle(self, envelope: Envelope) -> bytes:
        content = envelope.plaintext.to_bytes(self._plaintext_bytes, "big") + envelope.randomiser.to_bytes(16, "big")
        return hashlib.blake2b(content, key=self._hash_key, digest_size=HANDLE_BYTES).digest()


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

    def _grouped_sum(self, c: ByteArray, groups: list[list[int]], n_groups: int, n_running: int) -> ByteArray:
        envelopes = self._open(c)
        contents: list[tuple[int, int]] = []
        for grouping in groups:
            plaintexts, randomisers = [0] * n_groups, [0] * n_groups
            for group, (plaintext, randomiser) in zip(grouping, envelopes, strict=True):
                plaintexts[group] += plaintext
                randomisers[group] += randomiser
            for sums in (plaintexts, randomisers):
                sums[:n_running] = accumulate(sums[:n_running])
            contents += zip(plaintexts, randomisers, strict=True)
        return self._seal(contents)

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


VECTOR_LIMB_BITS = 16
FLOAT_BITS = 53  # integers below 2^53 are exact in float64
BLOCK_COLUMNS = 8192  # leaves the matrix limbs of 53 - 16 - 14 = 23 bits


def exact_products(matrix: IntegerMatrix, vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    """matrix @ vector over the integers for each vector, for signed entries of any length."""
    totals = [[0] * len(matrix) for _ in vectors]
    for start in range(0, matrix.shape[1], BLOCK_COLUMNS):
        block = as_word_matrix(matrix[:, start : start + BLOCK_COLUMNS])
        pieces = [vector[start : start + BLOCK_COLUMNS] for vector in vectors]
        partials = _object_products(block, pieces) if block.dtype == object else _limb_products(block, pieces)
        totals = [_sum(total, partial) for total, partial in zip(totals, partials, strict=True)]
    return totals


def _sum(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _object_products(matrix: npt.NDArray[np.object_], vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    rows = matrix.tolist()
    return [[sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows] for vector in vectors]


def _limb_products(matrix: IntArray, vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    # columns · 2^(matrix limb) · 2^(vector limb) <= 2^53, and so is every partial sum on the way
    limb_bits = FLOAT_BITS - VECTOR_LIMB_BITS - matrix.shape[1].bit_length()
    levels = _matrix_limbs(matrix, limb_bits)
    products = []
    for vector in vectors:
        vector_limbs = _vector_limbs(vector)
        total = [0] * len(matrix)
        for level, limbs in enumerate(levels):
            partial = _carry((limbs @ vector_limbs).astype(np.int64))
            total = _sum(total, [part << (level * limb_bits) for part in partial])
        products.append(total)
    return products


def _matrix_limbs(matrix: IntArray, limb_bits: int) -> list[FloatArray]:
    sign, rest = np.sign(matrix), np.abs(matrix)
    limbs = []
    while rest.any():
        limbs.append((sign * (rest & ((1 << limb_bits) - 1))).astype(np.float64))
        rest = rest >> limb_bits
    return limbs


def _vector_limbs(vector: Sequence[int]) -> FloatArray:
    """(entries, limbs): the magnitude of each entry, lowest limb first, every limb with the entry's sign."""
    longest = max(abs(value).bit_length() for value in vector)
    n_limbs = max(1, -(-longest // VECTOR_LIMB_BITS))
    packed = b"".join([abs(value).to_bytes(2 * n_limbs, "little") for value in vector])
    limbs = np.frombuffer(packed, dtype="<u2").reshape(len(vector), n_limbs).astype(np.float64)
    limbs *= np.array([-1.0 if value < 0 else 1.0 for value in vector])[:, None]
    return limbs


def _carry(sums: IntArray) -> list[int]:
    """Rows of signed sums, each worth 2^16 times the one before, as integers."""
    n_limbs = sums.shape[1]
    digits = np.empty(sums.shape, dtype="<u2")
    carry = np.zeros(len(sums), dtype=np.int64)
    for limb in range(n_limbs):
        carry += sums[:, limb]
        digits[:, limb] = carry & 0xFFFF
        carry >>= VECTOR_LIMB_BITS
    top = VECTOR_LIMB_BITS * n_limbs
    return [
        int.from_bytes(row.tobytes(), "little") + (high << top)
        for row, high in zip(digits, carry.tolist(), strict=True)
    ]
