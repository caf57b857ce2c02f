"""A message from one of a pair to the other, secret and unchanged: a SHAKE-256 stream, then HMAC-SHA256 over it.

``context`` must never repeat for one secret: it says who sends what to whom in which round, and picks the stream.
"""

from __future__ import annotations

import hashlib
import hmac

from fedleak.core.errors import DecryptionError

TAG_BYTES = 32


def seal(secret: bytes, context: bytes, message: bytes) -> bytes:
    hidden = bytes(a ^ b for a, b in zip(message, _stream(secret, context, len(message)), strict=True))
    return hidden + _tag(secret, context, hidden)


def unseal(secret: bytes, context: bytes, sealed: bytes) -> bytes:
    hidden, tag = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    if len(sealed) < TAG_BYTES or not hmac.compare_digest(tag, _tag(secret, context, hidden)):
        raise DecryptionError("a sealed message must come from the pair's other party, unchanged; got another")
    return bytes(a ^ b for a, b in zip(hidden, _stream(secret, context, len(hidden)), strict=True))


def _stream(secret: bytes, context: bytes, count: int) -> bytes:
    return hashlib.shake_256(b"stream" + secret + context).digest(count)


def _tag(secret: bytes, context: bytes, hidden: bytes) -> bytes:
    key = hashlib.sha256(b"tag" + secret).digest()
    return hmac.new(key, len(context).to_bytes(4, "big") + context + hidden, hashlib.sha256).digest()
