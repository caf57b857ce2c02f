"""Writes a folder, entry by entry, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Self

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import FileFormatError, RunError
from fedleak.core.version import __version__
from fedleak.schema import strict_json
from fedleak.schema.codec_containers import TaggedCodec, decode, encode
from fedleak.schema.strict_json import Malformed
from fedleak.storage.folder import (
    FORMAT_NAME,
    HEADER,
    INDEX,
    SCHEMA_VERSION,
    ContentT,
    FolderKind,
    Preamble,
    StagingFolder,
    writing,
)
from fedleak.storage.safe_files import Limits
from fedleak.storage.segments import DTYPES, ArrayRef, SegmentWriter
from fedleak.storage.stored_form import STORED, reading_within


class FolderWriter(Generic[ContentT]):
    """With ``content`` given, each entry is held against it at once; without, it is known at the end only."""

    def __init__(
        self,
        path: Path,
        kind: FolderKind[ContentT],
        limits: Limits,
        *,
        overwrite: bool,
        content: ContentT | None = None,
    ) -> None:
        self._path = path = path.absolute()  # the working directory may change before the end
        self._content = content
        self._kind = kind
        self._limits = limits
        self._entry = TaggedCodec("entry", kind.entries, STORED)
        self._n_entries = 0
        self._n_index_bytes = 0
        self._open = True
        self._staging = StagingFolder(path, overwrite=overwrite)
        with writing(path):
            self._segments = SegmentWriter(self._staging.folder, limits)
            self._index = (self._staging.folder / INDEX).open("xb")

    def add(self, entry: object) -> None:
        """Append an entry. One that cannot be stored is refused, and the writer goes on; a disk error ends it."""
        self._check_open()
        try:
            with self._explained(f"{INDEX}, line {self._n_entries + 1}"), writing(self._path):
                self._write(entry)
        except FileFormatError:
            raise
        except BaseException:  # something may be half-written
            self.abandon()
            raise

    def _write(self, entry: object) -> None:
        if self._content is not None:
            self._kind.check(entry, self._content)
        value = self._entry.encode(entry, self._segments.put)
        line = strict_json.compact(value) + b"\n"
        self._check_size(len(line))
        # What could not be read back is refused now, not when somebody needs it.
        self._entry.decode(value, reading_within(self._limits, _stand_in))
        self._index.write(line)
        self._n_entries += 1
        self._n_index_bytes += len(line)

    def check(self, content: ContentT) -> None:
        """Raise what ``finish`` would raise for it, before anything is spent on the entries."""
        with self._explained(HEADER):
            self._header(content)

    def finish(self, content: ContentT) -> None:
        """Write the header and give the folder its name."""
        self._check_open()
        try:
            with self._explained(HEADER), writing(self._path):
                self._segments.close()
                self._index.close()
                header = self._header(content)
                (self._staging.folder / HEADER).write_bytes(header)
            self._staging.publish()
        except BaseException:
            self.abandon()
            raise
        self._open = False

    def abandon(self) -> None:
        """Remove everything; without effect on a finished folder."""
        if self._open:
            self._open = False
            self._segments.abandon()
            self._index.close()
            self._staging.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.abandon()

    def _header(self, content: ContentT) -> bytes:
        preamble = Preamble(
            FORMAT_NAME, SCHEMA_VERSION, self._kind.name, __version__, self._n_entries, self._segments.n_segments
        )
        common = encode(Preamble, preamble, STORED)
        specific = encode(self._kind.content, content, STORED, _no_arrays)
        decode(self._kind.content, specific, STORED, reading_within(self._limits, _stand_in))
        header = strict_json.readable({"preamble": common, "content": specific})
        if len(header) > self._limits.header_bytes:
            raise Malformed(f"header must have at most {self._limits.header_bytes} bytes; got {len(header)}")
        return header

    def _check_open(self) -> None:
        if not self._open:
            raise RunError(f"{self._path} must still be open for writing; it was finished or abandoned")

    def _check_size(self, n_line: int) -> None:
        if n_line > self._limits.line_bytes:
            raise Malformed(f"entry must take at most {self._limits.line_bytes} bytes; got {n_line}")
        if self._n_entries >= self._limits.n_entries:
            raise Malformed(f"folder must have at most {self._limits.n_entries} entries; got more")
        if self._segments.n_segments > self._limits.n_segments:
            raise Malformed(f"folder must have at most {self._limits.n_segments} segments; got more")
        total = self._n_index_bytes + n_line + self._segments.n_bytes
        if total > self._limits.total_bytes:
            raise Malformed(f"folder must have at most {self._limits.total_bytes} bytes; got {total}")

    @contextmanager
    def _explained(self, place: str) -> Iterator[None]:
        try:
            yield
        except Malformed as error:
            raise FileFormatError(f"{self._path}: {place} cannot be stored: {error}") from error
        except RecursionError as error:
            raise FileFormatError(f"{self._path}: {place} cannot be stored: nested too deep") from error


def _stand_in(ref: ArrayRef) -> AnyArray:
    """An array of the right type and shape that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype=DTYPES[ref.dtype]), ref.shape)


def _no_arrays(array: AnyArray) -> ArrayRef:
    raise Malformed(f"header must hold no arrays; got one of shape {array.shape}")
