"""One way into every source of tables."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedleak.core.errors import DataError
from fedleak.data.raw_table import RawTable, from_pandas
from fedleak.data.sources.binary_files import read_npz_table, read_parquet
from fedleak.data.sources.bundled import BUNDLED_PIXELS, BUNDLED_TARGET, bundled_frame
from fedleak.data.sources.catalogue import (
    FOLDER_VARIABLE,
    SUFFIXES,
    find_in_folder,
    not_found,
    openml_frame,
    public_target,
    where_it_looked,
)
from fedleak.data.sources.comma_numbers import NOTES
from fedleak.data.sources.public_sets import PUBLIC_SETS
from fedleak.data.sources.text_files import existing_file, read_delimited

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["files_read", "load", "source_file"]

_READ: dict[Path, None] = {}  # in the order of reading; of the whole process, because tables are kept once read
_BARE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-]{0,99}")


def load(
    source: str,
    *,
    target: str | None = None,
    drop: Collection[str] = (),
    missing_marks: Collection[str] = (),
    folder: Path | None = None,
) -> RawTable:
    """The raw table of a source. Relative paths start at ``folder`` (default: the working directory)."""
    wanted = _Wanted(target, frozenset(drop), frozenset(missing_marks))
    scheme, _, name = source.partition(":")
    if scheme == "sklearn":
        table = wanted.table(bundled_frame(name), source, own_target=BUNDLED_TARGET)
        return replace(table, pixels=None if drop else BUNDLED_PIXELS.get(name))
    if scheme == "openml":
        frame, own_target, exact = openml_frame(name)
        return wanted.table(frame, exact, own_target=own_target)
    path = source_file(source, folder)
    return _from_elsewhere(source, wanted) if path is None else _from_file(path, source, wanted)


def files_read() -> tuple[Path, ...]:
    """Files that this process has taken data from."""
    return tuple(_READ)


def source_file(source: str, folder: Path | None = None) -> Path | None:
    """The file that a path or a bare name stands for; None for a bare name that no local file has."""
    found = _found_file(source, folder)
    if found is not None:
        _READ[found.absolute()] = None
    return found


def _found_file(source: str, folder: Path | None) -> Path | None:
    path = (folder or Path()) / source
    if source.endswith(SUFFIXES):
        _check_not_in_folder(source, path)
        return existing_file(path)
    if _BARE_NAME.fullmatch(source):
        found = find_in_folder(source)
        if found is None and source not in PUBLIC_SETS and path.is_dir():
            existing_file(path)  # says that a folder is no table
        return found
    if source:
        existing_file(path)
    raise DataError(f"a data file must end in {', '.join(SUFFIXES)}; got {source!r}")


def _check_not_in_folder(source: str, path: Path) -> None:
    """A file that lies in FEDLEAK_DATA goes by its bare name; with its ending it is a path, and leads nowhere."""
    name = source.partition(".")[0]
    with suppress(OSError, ValueError):  # a path that cannot be looked up is told where it is opened
        if path.exists():
            return
    found = find_in_folder(name) if _BARE_NAME.fullmatch(name) else None
    if found is not None and found.name == source:
        raise DataError(
            f"a data file must exist; nothing is at {path.absolute()}. Write {name!r} for the file of that name in the "
            f"folder that {FOLDER_VARIABLE} names"
        )


@dataclass(frozen=True)
class _Wanted:
    """What of a table is asked for."""

    target: str | None
    drop: frozenset[str]
    missing_marks: frozenset[str]

    def table(self, frame: pd.DataFrame, name: str, *, own_target: str | None) -> RawTable:
        """The frame's raw table; a data set's own target is taken unless another is named or it is dropped."""
        target = self.target
        if target is None and own_target not in self.drop:
            target = own_target
        return from_pandas(frame, target, name=name, drop=self.drop, missing_marks=self.missing_marks)


def _from_file(path: Path, source: str, wanted: _Wanted) -> RawTable:
    if path.suffix == ".npz":
        return read_npz_table(path, name=source, target=wanted.target, drop=wanted.drop)
    frame = read_parquet(path) if path.suffix == ".parquet" else read_delimited(path, wanted.missing_marks)
    own_target = public_target(source)
    has_it = own_target in [str(column) for column in frame.columns]  # a user's own file may have a public set's name
    table = wanted.table(frame, source, own_target=own_target if has_it else None)
    return replace(table, notes=tuple(frame.attrs.get(NOTES, ())))


def _from_elsewhere(name: str, wanted: _Wanted) -> RawTable:
    """A public set that is not in the folder: from scikit-learn, or over the network."""
    entry = PUBLIC_SETS.get(name)
    if entry is None or entry.elsewhere is None:
        raise not_found(name)
    scheme, _, reference = entry.elsewhere.partition(":")
    if scheme == "sklearn":
        return wanted.table(bundled_frame(reference), entry.elsewhere, own_target=BUNDLED_TARGET)
    try:
        frame, own_target, exact = openml_frame(reference)
    except DataError as error:
        raise DataError(f"{name}: {where_it_looked(name)}, and {error}") from error
    if own_target is not None and entry.target is not None:
        frame = frame.rename(columns={own_target: entry.target})
    return wanted.table(frame, f"{name}, from {exact}", own_target=entry.target)
