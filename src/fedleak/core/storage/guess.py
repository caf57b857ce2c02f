"""A guess as bytes: two processes that guess the same give the same bytes, and only those."""

from __future__ import annotations

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import FileFormatError
from fedleak.core.guess import Guess
from fedleak.core.storage.array_ref import ArrayRef, aligned, ref_for, storable_bytes
from fedleak.core.storage.codec_containers import encode
from fedleak.core.storage.malformed import Malformed
from fedleak.core.storage.strict_json import compact_sorted

_MAGIC = b"fedleak guess 1\n"


def guess_to_bytes(guess: Guess) -> bytes:
    """A line of JSON with sorted keys, then the arrays' bytes at the offsets that it names."""
    body = bytearray()

    def append(array: AnyArray) -> ArrayRef:
        body.extend(bytes(aligned(len(body)) - len(body)))
        ref = ref_for(array, segment=0, offset=len(body))
        body.extend(storable_bytes(array))
        return ref

    try:
        head = compact_sorted(encode(Guess, guess, append))
    except Malformed as error:
        raise FileFormatError(f"guess cannot be stored: {error}") from error
    return _MAGIC + head + b"\n" + bytes(body)
