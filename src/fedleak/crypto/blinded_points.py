"""Points of Curve25519 under a party's secret: what two parties can compare and neither can undo.

Multiplication is X25519 (RFC 7748) from `cryptography`, in constant time; one party's secret after the other's gives
the same point in either order. Texts are hashed to points of the curve, never of its twist: which of the two a point
lies on outlives every secret, and would tell a bit of each text. RFC 7748's scalars are multiples of the cofactor, so
that what leaves a party lies in the group of prime order.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from fedleak.core.errors import CryptoError
from fedleak.core.payload import IntegerArray, Scalar, Tree

POINT_BYTES = 32
PRIME = 2**255 - 19
COEFFICIENT = 486662  # of v^2 = u^3 + A u^2 + u
SCHEME = "x25519"
SECRET_FIELDS = frozenset({"scheme", "scalar"})
_DOMAIN = b"fedleak: a point of an identifier"


def point_of(text: bytes) -> bytes:
    """The u coordinate of a point on the curve that follows from the text, and whose multiples nobody knows."""
    counter = 0
    while True:
        digest = sha256(_DOMAIN + counter.to_bytes(4, "big") + text).digest()
        u = int.from_bytes(digest, "little") & (2**255 - 1)
        if is_on_curve(u):
            return u.to_bytes(POINT_BYTES, "little")
        counter += 1


def is_on_curve(u: int) -> bool:
    """Whether it is the u coordinate of a point, and not 0, which has order two; of the twist it is not."""
    from fedleak.crypto.bigint import legendre  # a list of protocols needs no gmpy2

    return 0 < u < PRIME and legendre(u * (u * (u + COEFFICIENT) + 1) % PRIME, PRIME) == 1


class PointSecret:
    """A party's secret factor."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey  # a list of protocols needs none

        self._key = X25519PrivateKey.generate()

    def blind(self, points: Sequence[bytes]) -> list[bytes]:
        return [self._times(point) for point in points]

    def _times(self, point: bytes) -> bytes:
        """A point of small order, whose multiple is the same for everybody, is refused."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(point))
        except ValueError:
            raise CryptoError(f"a blinded identifier must be a point of large order; got {point.hex()}") from None

    def payload(self) -> Tree:
        """For its owner's own records."""
        return Tree({"scheme": Scalar(SCHEME), "scalar": packed([self._key.private_bytes_raw()])})


def packed(points: Sequence[bytes]) -> IntegerArray:
    """Byte strings of one length, each as a number."""
    width = len(points[0]) if points else POINT_BYTES
    data = np.frombuffer(b"".join(points), dtype=np.uint8).reshape(len(points), width)
    return IntegerArray(data, (len(points),))


def unpacked(payload: IntegerArray) -> list[bytes]:
    return [row.tobytes() for row in payload.data]
