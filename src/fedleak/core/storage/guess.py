"""One value as bytes, for a way between processes: equal values give equal bytes, and only those.

A guess comes back from the process of an attack, which may be anybody's code: what is read here is checked as
strictly as a stranger's file, and becomes plain arrays whatever was sent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, freeze
from fedleak.core.errors import FileFormatError
from fedleak.core.guess import Guess
from fedleak.core.payload import Payload
from fedleak.core.storage import strict_json
from fedleak.core.storage.array_ref import DTYPES, ArrayRef, aligned, ref_for, storable_bytes
from fedleak.core.storage.codec import Reading
from fedleak.core.storage.codec_containers import codec_for
from fedleak.core.storage.limits import DEFAULT_LIMITS, Limits
from fedleak.core.storage.malformed import Malformed

_GUESS = b"fedleak guess 1\n"
_PAYLOAD = b"fedleak payload 1\n"


def guess_to_bytes(guess: Guess) -> bytes:
    return _to_bytes(_GUESS, Guess, guess)


def guess_from_bytes(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Guess:
    found = _from_bytes(_GUESS, Guess, data, limits)
    assert isinstance(found, Guess)
    return found


def payload_to_bytes(payload: Payload) -> bytes:
    return _to_bytes(_PAYLOAD, Payload, payload)


def payload_from_bytes(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Payload:
    found: Payload = _from_bytes(_PAYLOAD, Payload, data, limits)
    return found


def _to_bytes(magic: bytes, kind: Any, value: object) -> bytes:
    """A line of JSON with sorted keys, then the arrays' bytes at the offsets that it names."""
    body = bytearray()

    def append(array: AnyArray) -> ArrayRef:
        body.extend(bytes(aligned(len(body)) - len(body)))
        ref = ref_for(array, segment=0, offset=len(body))
        body.extend(storable_bytes(array))
        return ref

    try:
        head = strict_json.compact_sorted(codec_for(kind).encode(value, append))
    except Malformed as error:
        raise FileFormatError(f"{_what(magic)} cannot be stored: {error}") from error
    return magic + head + b"\n" + bytes(body)


def _from_bytes(magic: bytes, kind: Any, data: bytes, limits: Limits) -> Any:
    end = data.find(b"\n", len(magic))
    if not data.startswith(magic) or not 0 <= end - len(magic) <= limits.header_bytes:
        raise FileFormatError(f"{_what(magic)} must begin with its name and a line of JSON; got other bytes")
    body = memoryview(data)[end + 1 :]

    def resolve(ref: ArrayRef) -> AnyArray:
        if ref.segment != 0 or ref.offset + ref.n_bytes > len(body):
            raise Malformed(f"array must lie inside the {len(body)} bytes that follow; got {ref}")
        flat: AnyArray = np.frombuffer(body[ref.offset : ref.offset + ref.n_bytes], dtype=DTYPES[ref.dtype])
        if flat.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
            raise Malformed("booleans must be stored as 0 or 1; got another byte")
        return freeze(flat.reshape(ref.shape))

    try:
        return codec_for(kind).decode(strict_json.parse(data[len(magic) : end]), Reading(limits, resolve))
    except Malformed as error:
        raise FileFormatError(f"{_what(magic)}: {error}") from error
    except RecursionError as error:
        raise FileFormatError(f"{_what(magic)}: value must not be nested this deep") from error


def _what(magic: bytes) -> str:
    return magic.decode().split()[1]
