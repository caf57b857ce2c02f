"""One round of secure aggregation in which a party may be missing, under keys of either kind.

Keys and seeds are drawn, shares of both are dealt, every party masks its vector towards every other, and the seeds are
opened again: all that a round computes beside the training. The plain kind of key is what is written first: Diffie and
Hellman's in the 2048-bit group of RFC 3526, with Python's own powers.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.crypto.agreed_keys import MaskingKey
from fedleak.crypto.secret_sharing import split
from fedleak.crypto.secure_aggregation import Opened, RoundSecrets, decoded_total, masked, unmasked_total

# p = 2^2048 - 2^1984 - 1 + 2^64 (floor(2^1918 pi) + 124476): group 14 of RFC 3526
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510"
    "15728E5A8AACAA68FFFFFFFFFFFFFFFF",
    16,
)
GENERATOR = 2
EXPONENT_BITS = 512
SEED_BYTES = 32
FRACTION_BITS = 40


class ModularKey(MaskingKey):
    """A secret exponent and its power, without a library."""

    def __init__(self, secret: bytes | None = None) -> None:
        self.secret = secrets.token_bytes(EXPONENT_BITS // 8) if secret is None else secret
        self._exponent = int.from_bytes(self.secret, "big")
        self.public = pow(GENERATOR, self._exponent, PRIME).to_bytes(256, "big")

    def shared_with(self, other: bytes) -> bytes:
        return hashlib.sha256(pow(int.from_bytes(other, "big"), self._exponent, PRIME).to_bytes(256, "big")).digest()


def summed(kind: type[MaskingKey], vectors: FloatArray) -> FloatArray:
    """The sum of the parties' vectors (one a row), as the server opens it."""
    names = [f"party {number:04d}" for number in range(len(vectors))]
    threshold = (len(names) + 1) // 2 + 1  # 2t > n + 1: a server and one colluder open nothing
    own = {name: RoundSecrets(kind(), secrets.token_bytes(SEED_BYTES)) for name in names}
    announced = {name: each.announcement for name, each in own.items()}
    dealt = {}
    for name, each in own.items():
        split(int.from_bytes(each.key.secret, "big"), len(names), threshold)  # for a party that is lost; here none is
        dealt[name] = split(int.from_bytes(each.seed, "big"), len(names), threshold)
    sent = {
        name: masked(vector, FRACTION_BITS, own[name].mask(name, announced, 0, len(vector)), len(names))
        for name, vector in zip(names, np.asarray(vectors), strict=True)
    }
    opened = Opened(seeds=dealt, keys={})
    return decoded_total(unmasked_total(sent, announced, opened, threshold=threshold, round_number=0), FRACTION_BITS)
