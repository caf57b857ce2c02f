"""Shamir's secret sharing (1979), and the channel between two parties by which shares are dealt.

A secret is the value at 0 of a random polynomial, a share its value elsewhere. Any ``threshold`` shares determine the
polynomial; fewer are consistent with every secret, and say nothing. On the channel a message is secret and unchanged: a
SHAKE-256 stream, then HMAC-SHA256 over it. Its ``context`` must never repeat for one secret: it says who sends what to
whom in which round, and picks the stream.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fedleak.core.errors import CryptoError, DecryptionError, InputError

FIELD = 2**521 - 1  # a Mersenne prime: secrets of up to 520 bits
FIELD_BYTES = 66
SECRET_BITS = 520


@dataclass(frozen=True)
class Share:
    at: int  # where the polynomial is evaluated: 1 to the number of shares
    value: int

    def to_bytes(self) -> bytes:
        return self.at.to_bytes(2, "big") + self.value.to_bytes(FIELD_BYTES, "big")

    @classmethod
    def from_bytes(cls, data: bytes) -> Share:
        if len(data) != SHARE_BYTES:
            raise CryptoError(f"a share must have {SHARE_BYTES} bytes; got {len(data)}")
        return cls(int.from_bytes(data[:2], "big"), int.from_bytes(data[2:], "big"))

    def __repr__(self) -> str:  # a share in a log would be a share given away
        return f"Share(at={self.at})"


SHARE_BYTES = 2 + FIELD_BYTES


def split(secret: int, n_shares: int, threshold: int) -> tuple[Share, ...]:
    if not 0 <= secret < 1 << SECRET_BITS:
        raise CryptoError(f"a secret to share must have at most {SECRET_BITS} bits and no sign")
    if not 1 <= threshold <= n_shares < 1 << 16:
        raise InputError(f"threshold must be from 1 to the number of shares, {n_shares}; got {threshold}")
    coefficients = [secret, *(secrets.randbelow(FIELD) for _ in range(threshold - 1))]
    return tuple(Share(at, _polynomial_at(coefficients, at)) for at in range(1, n_shares + 1))


def combine(shares: Sequence[Share], threshold: int) -> int:
    """Lagrange interpolation at 0 from the first ``threshold`` shares; the others must lie on the same polynomial."""
    by_place = {share.at: share for share in shares}
    if len(by_place) < threshold:
        raise CryptoError(f"a shared secret must have {threshold} different shares to be opened; got {len(by_place)}")
    chosen = list(by_place.values())
    if any(not 0 < share.at < FIELD or not 0 <= share.value < FIELD for share in chosen):
        raise CryptoError("a share must be a place above 0 and a value in the field; got another")
    base, others = chosen[:threshold], chosen[threshold:]
    if any(_interpolated(base, other.at) != other.value for other in others):
        raise CryptoError("shares must lie on one polynomial; got some that do not: one of them is wrong")
    return _interpolated(base, 0)


def _polynomial_at(coefficients: Sequence[int], at: int) -> int:
    total = 0
    for coefficient in reversed(coefficients):
        total = (total * at + coefficient) % FIELD
    return total


def _interpolated(shares: Sequence[Share], at: int) -> int:
    weights = _weights(tuple(share.at for share in shares), at)
    return sum(share.value * weight for share, weight in zip(shares, weights, strict=True)) % FIELD


@lru_cache(maxsize=1024)
def _weights(places: tuple[int, ...], at: int) -> tuple[int, ...]:
    """Lagrange's, which depend on the places alone: all secrets of a round are opened with the same ones."""
    found = []
    for one in places:
        above, below = 1, 1
        for other in places:
            if other != one:
                above = above * (at - other) % FIELD
                below = below * (one - other) % FIELD
        found.append(above * pow(below, -1, FIELD) % FIELD)
    return tuple(found)


TAG_BYTES = 32


def seal(secret: bytes, context: bytes, message: bytes) -> bytes:
    hidden = bytes(a ^ b for a, b in zip(message, _stream(secret, context, len(message)), strict=True))
    return hidden + tag(secret, context, hidden)


def unseal(secret: bytes, context: bytes, sealed: bytes) -> bytes:
    hidden, found = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    if len(sealed) < TAG_BYTES or not hmac.compare_digest(found, tag(secret, context, hidden)):
        raise DecryptionError("a sealed message must come from the pair's other party, unchanged; got another")
    return bytes(a ^ b for a, b in zip(hidden, _stream(secret, context, len(hidden)), strict=True))


def _stream(secret: bytes, context: bytes, count: int) -> bytes:
    return hashlib.shake_256(b"stream" + secret + context).digest(count)


def tag(secret: bytes, context: bytes, hidden: bytes) -> bytes:
    """What only the pair can have made of the message in that context."""
    key = hashlib.sha256(b"tag" + secret).digest()
    return hmac.new(key, len(context).to_bytes(4, "big") + context + hidden, hashlib.sha256).digest()
