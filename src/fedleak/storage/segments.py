"""The numbers: flat files of bytes that numpy can open by itself, and where an array lies in them.

A segment ``segments/NNNN.npy`` is a one-dimensional uint8 array in numpy's own format, version 1.0. The next array goes
to the current segment if the file then stays within ``Limits.segment_bytes``, and otherwise starts a new one. An array
that is larger than that has a segment to itself, so every array is contiguous and can be memory-mapped.
"""

from __future__ import annotations

import io
import mmap
import re
from collections import OrderedDict
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from fedleak.core.arrays import AnyArray, freeze
from fedleak.core.errors import FileFormatError
from fedleak.storage import safe_files
from fedleak.storage.safe_files import Limits
from fedleak.storage.strict_json import Malformed, shown

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


FOLDER = "segments"
# What a reader keeps mapped: so many segments, of so many bytes together where they are more than one. Arrays in use
# keep theirs mapped too.
_N_OPEN = 16
_MAPPED_BYTES = 512 * safe_files.MIB
# After so many bytes of arrays, the pages of all that is mapped are given back: they count as this process's memory
# from the first touch until the map goes, and a map of 256 MiB lives as long as the smallest array in it.
_TOUCHED_BYTES = 32 * safe_files.MIB
_PREAMBLE = re.compile(rb"\x93NUMPY\x01\x00(..)", re.DOTALL)
_DESCRIPTION = re.compile(rb"\{'descr': '\|u1', 'fortran_order': False, 'shape': \((\d{1,19}),\), \} *\n")
_PREAMBLE_BYTES = 10
_HEADER_BYTES_AT_MOST = 256


def segment_path(folder: Path, index: int) -> Path:
    """The only way to a segment's name: from its number, never from a text in a file."""
    return folder / FOLDER / f"{index:04d}.npy"


def npy_header(n_bytes: int) -> bytes:
    """Always 128 bytes: numpy pads for the length to grow in place."""
    buffer = io.BytesIO()
    npy_format.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": (n_bytes,)})
    return buffer.getvalue()


_EMPTY_HEADER = npy_header(0)


class SegmentWriter:
    """Appends arrays; one file is open at a time, and nothing is kept in memory."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._file: BinaryIO | None = None
        self._n_in_segment = 0  # bytes of data in the open segment
        self._n_closed = 0  # bytes of the files before it
        self.n_segments = 0
        (folder / FOLDER).mkdir()

    @property
    def n_bytes(self) -> int:
        return self._n_closed + self._n_in_segment

    def put(self, array: AnyArray) -> ArrayRef:
        data = storable_bytes(array)
        file = self._file_with_room(data.nbytes)
        offset = aligned(self._n_in_segment)
        file.write(bytes(offset - self._n_in_segment))
        file.write(data)
        self._n_in_segment = offset + data.nbytes
        return ref_for(array, self.n_segments - 1, offset)

    def close(self) -> None:
        if self._file is not None:
            header = npy_header(self._n_in_segment)
            self._file.seek(0)
            self._file.write(header)
            self._file.close()
            self._file = None
            self._n_closed += len(header) + self._n_in_segment
            self._n_in_segment = 0

    def abandon(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _file_with_room(self, n_bytes: int) -> BinaryIO:
        end = len(_EMPTY_HEADER) + aligned(self._n_in_segment) + n_bytes
        if self._file is not None and end <= self._limits.segment_bytes:
            return self._file
        self.close()
        self._file = segment_path(self._folder, self.n_segments).open("xb")
        self._file.write(_EMPTY_HEADER)  # the length is filled in when the segment is closed
        self.n_segments += 1
        return self._file


class SegmentReader:
    """Arrays as read-only views of memory-mapped segments."""

    def __init__(self, folder: Path, n_segments: int, limits: Limits) -> None:
        self._folder = folder
        self._n_segments = n_segments
        self._limits = limits
        self._mapped: OrderedDict[int, tuple[mmap.mmap | bytes, int]] = OrderedDict()
        self._n_touched = 0  # bytes of arrays that were handed out since pages were last given back
        if n_segments:
            safe_files.check_folder(folder / FOLDER)

    def n_bytes(self) -> int:
        """Of all segment files together; each must be there and be a segment."""
        total = 0
        for index in range(self._n_segments):
            total += len(self._segment(index)[0])
            if total > self._limits.total_bytes:
                raise FileFormatError(f"{self._folder} must have at most {self._limits.total_bytes} bytes; got more")
        return total

    def array(self, ref: ArrayRef) -> AnyArray:
        if ref.segment >= self._n_segments:
            raise Malformed(f"segment must be one of {self._n_segments}; got {ref.segment}")
        mapped, start = self._segment(ref.segment)
        n_data = len(mapped) - start
        if ref.offset + ref.n_bytes > n_data:
            raise Malformed(f"array must lie inside segment {ref.segment} of {n_data} bytes; got {ref}")
        if len(mapped) > self._limits.segment_bytes and ref.n_bytes != n_data:
            raise Malformed(f"segment {ref.segment} must hold one array only, being so large; got {ref}")
        dtype = DTYPES[ref.dtype]
        count = ref.n_bytes // dtype.itemsize
        if count == 0:  # an offset at the very end is legal here, but not for numpy
            return freeze(np.empty(ref.shape, dtype=dtype))
        self._count_touched(ref.n_bytes)
        flat: AnyArray = np.frombuffer(mapped, dtype=dtype, count=count, offset=start + ref.offset)
        if dtype.kind == "b" and flat.view(np.uint8).max() > 1:
            raise Malformed("booleans must be stored as 0 or 1; got another byte")
        return flat.reshape(ref.shape)

    def _segment(self, index: int) -> tuple[mmap.mmap | bytes, int]:
        found = self._mapped.pop(index, None)
        if found is None:
            path = segment_path(self._folder, index)
            mapped = safe_files.map_whole(path, self._limits.total_bytes)
            found = mapped, _data_start(path, mapped)
            self._make_room(len(mapped))
        self._mapped[index] = found  # the most recently used stand last
        return found

    def _make_room(self, n_bytes: int) -> None:
        while self._mapped and (len(self._mapped) >= _N_OPEN or self._n_mapped() + n_bytes > _MAPPED_BYTES):
            _, (oldest, _) = self._mapped.popitem(last=False)
            _give_back(oldest)

    def _n_mapped(self) -> int:
        return sum(len(mapped) for mapped, _ in self._mapped.values())

    def _count_touched(self, n_bytes: int) -> None:
        self._n_touched += n_bytes
        if self._n_touched > _TOUCHED_BYTES:
            for mapped, _ in self._mapped.values():
                _give_back(mapped)
            self._n_touched = n_bytes


def _give_back(mapped: mmap.mmap | bytes) -> None:
    """The pages, not the map: who still has an array in it finds them in the file again."""
    if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _data_start(path: Path, mapped: mmap.mmap | bytes) -> int:
    """Reads the npy header. What it must say is known beforehand, so none of it is evaluated."""
    preamble = _PREAMBLE.match(mapped)
    if preamble is None:
        raise FileFormatError(f"{path} must be a numpy file of version 1.0; got other first bytes")
    start = _PREAMBLE_BYTES + int.from_bytes(preamble[1], "little")
    if start > _HEADER_BYTES_AT_MOST or start % 64:
        raise FileFormatError(f"{path} must have a header of 64, 128, 192 or 256 bytes; got {start}")
    description = _DESCRIPTION.fullmatch(mapped, _PREAMBLE_BYTES, start)
    if description is None:
        raise FileFormatError(f"{path} must hold a flat array of dtype |u1 in C order; its header says otherwise")
    if int(description[1]) != len(mapped) - start:
        raise FileFormatError(f"{path} must hold {int(description[1])} bytes of data; got {len(mapped) - start}")
    return start
