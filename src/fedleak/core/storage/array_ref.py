"""Where an array lies in the segments, and which arrays may lie there."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.storage.limits import Limits
from fedleak.core.storage.malformed import Malformed, shown

ALIGNMENT_BYTES = 64  # a cache line; also what numpy's own files align to

_ONE_BYTE = ("|b1", "|i1", "|u1")
_WIDER = tuple(f"{order}{kind}" for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"))
DTYPES = {text: np.dtype(text) for text in (*_ONE_BYTE, *_WIDER)}  # the byte order is always explicit


@dataclass(frozen=True)
class ArrayRef:
    """``offset`` counts bytes from the start of the segment's data."""

    dtype: str
    shape: tuple[int, ...]
    segment: int
    offset: int

    @property
    def n_bytes(self) -> int:
        return prod(self.shape) * DTYPES[self.dtype].itemsize

    def check(self, limits: Limits) -> None:
        """Everything that can be said without looking at the segment."""
        if self.dtype not in DTYPES:
            raise Malformed(f"dtype must be one of {', '.join(DTYPES)}; got {shown(self.dtype)}")
        if len(self.shape) > limits.n_dimensions:
            raise Malformed(f"shape must have at most {limits.n_dimensions} dimensions; got {len(self.shape)}")
        if any(length < 0 for length in self.shape):
            raise Malformed(f"shape must have no negative length; got {shown(self.shape)}")
        # Python's integers do not overflow. Lengths of 0 count as 1: numpy refuses (0, 2**62, 2**62) too.
        if prod(max(length, 1) for length in self.shape) * DTYPES[self.dtype].itemsize > limits.total_bytes:
            raise Malformed(f"array must take at most {limits.total_bytes} bytes; got shape {shown(self.shape)}")
        if self.offset < 0 or self.offset % ALIGNMENT_BYTES:
            raise Malformed(f"offset must be a multiple of {ALIGNMENT_BYTES}, 0 or more; got {self.offset}")
        if not 0 <= self.segment < limits.n_segments:
            raise Malformed(f"segment must be 0 to {limits.n_segments - 1}; got {self.segment}")


def ref_for(array: AnyArray, segment: int, offset: int) -> ArrayRef:
    return ArrayRef(array.dtype.str, tuple(int(length) for length in array.shape), segment, offset)


def storable_bytes(array: AnyArray) -> memoryview:
    """The array's bytes in row-major order, without a copy where it already is."""
    if array.dtype.str not in DTYPES:
        raise Malformed(f"array must hold booleans, integers or floats of at most 8 bytes; got dtype {array.dtype}")
    flat: AnyArray = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data


def aligned(position: int) -> int:
    return -(-position // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
