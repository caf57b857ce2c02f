"""Where the ideal cipher keeps what its handles stand for: in memory, never saved, of bounded size."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedleak.core.arrays import ByteArray
from fedleak.core.errors import CryptoError

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
