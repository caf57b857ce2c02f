"""NumPy archives (.npz) from strangers: every size is checked before anything of that size is allocated.

``numpy.load`` allocates what a header declares before it looks at how much there is, so members are read here one by
one: their declared bytes must be there, and all of them together stay within a bound. No pickle.
"""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import FileFormatError
from fedleak.core.visible_text import one_line

MEMBER = ".npy"
KINDS = "biufUS"  # truth values, numbers and texts
N_DIMENSIONS = 16
N_MEMBERS = 10_000
MAX_CODE = 0x10FFFF


def read_archive(path: Path, max_bytes: int) -> dict[str, AnyArray]:
    """Every array by its name; whatever is wrong with the file is one error that names it."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_directory(archive, max_bytes)
            return {member.filename.removesuffix(MEMBER): _array(archive, member) for member in archive.infolist()}
    except OSError as error:
        raise FileFormatError(f"{path} must be a file that can be read; got: {error.strerror or error}") from error
    except Exception as error:  # zip, its methods of packing and array headers each have errors of their own
        raise FileFormatError(
            f"{path} must be a NumPy .npz archive without pickled objects; got: {_first_line(error)}"
        ) from error


def _check_directory(archive: zipfile.ZipFile, max_bytes: int) -> None:
    """By what the directory of the archive says, before anything is unpacked."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(names) > N_MEMBERS or len(set(names)) != len(names):
        raise ValueError(f"{len(names)} arrays, where at most {N_MEMBERS} with names that differ are read")
    for name in names:
        if not name.endswith(MEMBER):
            raise ValueError(f"{name!r}, which is no {MEMBER} array")
    n_bytes = sum(member.file_size for member in members)
    if n_bytes > max_bytes:
        raise ValueError(f"{n_bytes:,} bytes once decompressed, where at most {max_bytes:,} are read")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> AnyArray:
    with archive.open(member) as stream:
        shape, is_fortran, dtype = _header(stream)
        n_bytes = prod(shape) * dtype.itemsize  # Python integers: a forged shape must not wrap around
        if n_bytes > member.file_size:
            raise ValueError(f"{member.filename} declares {n_bytes:,} bytes and has {member.file_size:,}")
        data = stream.read()
    if len(data) != n_bytes:
        raise ValueError(f"{member.filename} declares {n_bytes:,} bytes of cells and has {len(data):,}")
    cells: AnyArray = np.frombuffer(data, dtype=dtype)
    if dtype.kind == "U":
        _check_texts(member.filename, cells)
    return cells.reshape(shape, order="F" if is_fortran else "C")


def _check_texts(name: str, cells: AnyArray) -> None:
    """Python makes no text of a number beyond Unicode, and half of a surrogate pair cannot be written."""
    codes = cells.view(np.dtype(np.uint32).newbyteorder(cells.dtype.byteorder))
    if len(codes) and (codes.max() > MAX_CODE or ((codes >= 0xD800) & (codes <= 0xDFFF)).any()):
        raise ValueError(f"{name}, which holds texts that are no Unicode")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array of .npy format version {version}; 1.0 and 2.0 are read")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("an array of pickled objects")
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise ValueError(f"an array of {dtype}; truth values, numbers and texts are read")
    if len(shape) > N_DIMENSIONS or any(length < 0 for length in shape) or prod(max(1, n) for n in shape) > 2**40:
        raise ValueError(f"an array of shape {shape}")
    return tuple(int(length) for length in shape), bool(is_fortran), dtype


def _first_line(error: Exception) -> str:
    return one_line((str(error).strip().splitlines() or [type(error).__name__])[0])[:300]
