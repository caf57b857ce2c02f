"""Opening files that a stranger may have prepared: regular files only, no links, no waiting, and every size bounded."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedleak.core.errors import FileFormatError
from fedleak.core.payload import N_DIMENSIONS
from fedleak.schema.codec import Bounds

MIB = 1 << 20


@dataclass(frozen=True)
class Limits(Bounds):
    """Of a folder, besides those of each value.

    Checked when reading and when writing, so that what was written can be read back. The defaults let any real run
    through. Raise one to read an exceptional folder of your own.
    """

    total_bytes: int = 1 << 40  # the whole folder
    segment_bytes: int = 256 * MIB  # a segment file; only one that holds a single array may be larger
    header_bytes: int = 16 * MIB  # header.json
    line_bytes: int = 16 * MIB  # a line of index.jsonl
    n_entries: int = 10_000_000  # lines of index.jsonl
    n_segments: int = 4096
    n_dimensions: int = N_DIMENSIONS  # of an array


DEFAULT_LIMITS = Limits()


_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)  # lstat comes first for the message; this closes the gap between the two
    | getattr(os, "O_NONBLOCK", 0)  # a named pipe must not make us wait for a writer
)


@contextmanager
def opened(path: Path) -> Iterator[tuple[int, int]]:
    """A descriptor and the file's size."""
    try:
        _check_regular(path, os.lstat(path))
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise FileFormatError(f"{path} must be a readable file; got: {error.strerror}") from error
    try:
        info = os.fstat(descriptor)
        _check_regular(path, info)
        yield descriptor, info.st_size
    finally:
        os.close(descriptor)


def read_whole(path: Path, limit_bytes: int) -> bytes:
    with opened(path) as (descriptor, size):
        if size > limit_bytes:
            raise FileFormatError(f"{path} must have at most {limit_bytes} bytes; got {size}")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(size)


def map_whole(path: Path, limit_bytes: int) -> mmap.mmap | bytes:
    """The file as a read-only memory map; an empty file, which cannot be mapped, as empty bytes."""
    with opened(path) as (descriptor, size):
        if size > limit_bytes:
            raise FileFormatError(f"{path} must have at most {limit_bytes} bytes; got {size}")
        if size == 0:
            return b""
        try:
            return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{path} must be a file that can be mapped into memory; got: {error}") from error


def check_folder(path: Path) -> None:
    """A folder of ours inside the one that the user named: not a link to somewhere else."""
    try:
        info = os.lstat(path)
    except OSError as error:
        raise FileFormatError(f"{path} must be a folder; got: {error.strerror}") from error
    if not stat.S_ISDIR(info.st_mode):
        raise FileFormatError(f"{path} must be a folder; got {_what(info)}")


def _check_regular(path: Path, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise FileFormatError(f"{path} must be a regular file; got {_what(info)}")


def _what(info: os.stat_result) -> str:
    names = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    return names.get(stat.S_IFMT(info.st_mode), "a special file")
