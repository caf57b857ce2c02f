"""Open ciphertexts with a key that the coalition holds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array, CipherArray, Payload, digest
from fedleak.core.view import View
from fedleak.crypto import fixed_point
from fedleak.crypto.key_payload import private_key_from_payload
from fedleak.crypto.paillier import PaillierPrivateKey


class Opener:
    """A real key decrypts; for the ideal cipher the key holder's records stand in, under the ciphertext's digest."""

    def __init__(self, view: View) -> None:
        self._keys = [record.value for record in view.records("private-key")]
        if not self._keys:
            raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no private key")
        self._opened = {
            record.name: record.value.values
            for name in view.coalition
            for record in view.locals.get(name, ())
            if record.name.startswith("opens-") and isinstance(record.value, Array)
        }

    def open(self, encrypted: CipherArray) -> FloatArray:
        known = self._opened.get(f"opens-{digest(encrypted)}")
        if known is not None:
            return np.asarray(known, dtype=np.float64)
        for payload in self._keys:
            key = _paillier(payload)
            if key.public.key_id == encrypted.key_id:
                return fixed_point.decode(key.decrypt(encrypted), encrypted.fraction_bits, key.public.modulus)
        raise MissingFromViewError("no private key of the view belongs to this ciphertext")


@lru_cache(maxsize=8)
def _paillier(payload: Payload) -> PaillierPrivateKey:
    return private_key_from_payload(payload)
