"""What two parties agree on over public keys: X25519 (RFC 7748), then HKDF-SHA256 (RFC 5869).

Both come from `cryptography`, which computes in constant time. The derived secret names both public keys, so that a
pair's secret is that of no other pair.
"""

from __future__ import annotations

from fedleak.core.errors import CryptoError

KEY_BYTES = 32
_PURPOSE = b"fedleak: masks of a pair"


class MaskingKey:
    """A party's secret scalar and what it publishes."""

    def __init__(self, secret: bytes | None = None) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey  # a list of protocols needs none

        drawn = X25519PrivateKey.generate() if secret is None else X25519PrivateKey.from_private_bytes(secret)
        self._key = drawn
        self.secret = drawn.private_bytes_raw()
        self.public = drawn.public_key().public_bytes_raw()

    def shared_with(self, other: bytes) -> bytes:
        """The pair's secret. A public key of small order, which would make it the same for everybody, is refused."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        if len(other) != KEY_BYTES:
            raise CryptoError(f"a public key must have {KEY_BYTES} bytes; got {len(other)}")
        try:
            agreed = self._key.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError:
            raise CryptoError("a public key must be a point of large order; got one of small order") from None
        names = b"".join(sorted((self.public, other)))
        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=_PURPOSE + names).derive(agreed)
