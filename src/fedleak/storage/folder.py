"""What all kinds of stored folder have in common: a header, an index, segments; a folder appears whole or not at all.

header.json            what it is, in which version, with which facts; how many entries and segments follow
index.jsonl            an entry a line: a message, a record, a piece of knowledge ...
segments/0000.npy ...  the numbers of all arrays, one after the other

It is built under a temporary name beside its place, then renamed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fedleak.core.errors import InputError, RunError
from fedleak.storage.segments import FOLDER as SEGMENTS

SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, SCHEMA_VERSION)
FORMAT_NAME = "fedleak"

ContentT = TypeVar("ContentT")


def _nothing_to_check(entry: object, content: object) -> None:
    pass


@dataclass(frozen=True)
class FolderKind(Generic[ContentT]):
    """A kind of folder: what its header says beyond the common part, and which entries it has."""

    name: str
    content: type[ContentT]
    entries: Mapping[str, type]
    check: Callable[[object, ContentT], None] = _nothing_to_check  # raises Malformed if entry and header disagree


@dataclass(frozen=True)
class Preamble:
    """The common part of every header."""

    format: str
    schema_version: int
    kind: str
    fedleak_version: str
    n_entries: int
    n_segments: int


HEADER = "header.json"
INDEX = "index.jsonl"
_SEGMENT_NAME = re.compile(r"\d{4,}\.npy")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A full disk, a missing permission: one clear error."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror or error}") from error


class StagingFolder:
    def __init__(self, path: Path, *, overwrite: bool) -> None:
        self._path = path
        self._overwrite = overwrite
        check_place(path, overwrite=overwrite)
        with writing(path):
            # Readable by its owner alone: a capture holds every party's secrets.
            self.folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
        # Runs at the latest when the interpreter ends, so that Ctrl-C outside a with block leaves nothing either.
        self._discard = weakref.finalize(self, _remove, self.folder, os.getpid())

    def publish(self) -> None:
        """Give the folder its name."""
        check_place(self._path, overwrite=self._overwrite)
        with writing(self._path):
            if self._path.exists():
                self._replace()
            else:
                self.folder.rename(self._path)
        self._discard.detach()

    def discard(self) -> None:
        self._discard()

    def _replace(self) -> None:
        """Two renames, for lack of a portable exchange; the first is undone if the second does not happen."""
        aside = Path(tempfile.mkdtemp(prefix=f".{self._path.name}.", suffix=".replaced", dir=self._path.parent))
        old = aside / self._path.name
        try:
            self._path.rename(old)
            self.folder.rename(self._path)
        except BaseException:
            if old.exists() and not os.path.lexists(self._path):
                old.rename(self._path)
            raise
        finally:
            if os.path.lexists(self._path):  # never remove the only copy
                shutil.rmtree(aside, ignore_errors=True)


def check_place(path: Path, *, overwrite: bool) -> None:
    """Whether a folder can be written there: nothing is, or one of ours that may be overwritten."""
    if not os.path.isdir(path.parent):
        raise InputError(f"{path.parent} must be a folder to write {path.name} in; create it first")
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise InputError(f"{path} must not exist yet; remove it, choose another name or pass overwrite=True")
    with writing(path):
        ours = is_ours(path)
    if not ours:
        raise InputError(f"{path} must be a folder that fedleak wrote to be overwritten; it holds other things")


def is_ours(path: Path) -> bool:
    """Overwriting removes a folder: it must hold nothing but what we write."""
    if path.is_symlink() or not path.is_dir():
        return False
    if {entry.name for entry in path.iterdir()} - {HEADER, INDEX, SEGMENTS}:
        return False
    segments = path / SEGMENTS
    return not segments.exists() or all(_SEGMENT_NAME.fullmatch(entry.name) for entry in segments.iterdir())


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child holds a copy of the object, not the folder
        shutil.rmtree(folder, ignore_errors=True)
