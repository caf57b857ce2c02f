"""Comma- and tab-separated files with a header row.

pandas reads the cells, but it fills short rows, renames repeated columns and takes a surplus column
for an index without a word; the structure is therefore checked first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedleak.core.errors import DataError
from fedleak.data.frames import checked_names
from fedleak.data.sources.files import read_bounded

if TYPE_CHECKING:
    import pandas as pd


def read_delimited(path: Path, missing_marks: Collection[str] = ()) -> pd.DataFrame:
    import pandas as pd

    text = _decoded(path)
    separator = _separator(path, text)
    names, n_rows = _checked_structure(path, text, separator)
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=0,
            names=list(names),
            index_col=False,
            na_values=sorted(missing_marks),
            skipinitialspace=True,
            float_precision=_exact_floats(pd.__version__),
            low_memory=False,
        )
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        raise DataError(f"{path} must be a table that pandas can read; got: {_first_line(error)}") from error
    if len(names) > 1 and len(frame) != n_rows:  # a line with nothing but quoted blanks
        raise DataError(
            f"every row of {path} must have {len(names)} cells; got {len(frame) - n_rows} with a blank alone"
        )
    return frame


def _exact_floats(pandas_version: str) -> Literal["round_trip"] | None:
    """pandas reads numbers to the last bit by default from 3.1 on; before, only when asked."""
    major, minor = pandas_version.split(".")[:2]
    return None if (int(major), int(minor)) >= (3, 1) else "round_trip"


def _decoded(path: Path) -> str:
    content = read_bounded(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} must be UTF-8 text; byte {error.start} is not. "
            "If it is Latin-1, convert it: iconv -f latin1 -t utf-8"
        ) from error
    if "\0" in text:
        raise DataError(f"{path} must be a text file; it holds NUL bytes")
    if not text.strip():
        raise DataError(f"{path} must hold a table; it is empty")
    return text


def _separator(path: Path, text: str) -> str:
    if ".tsv" in path.suffixes:
        return "\t"
    header = text.lstrip().split("\n", 1)[0]
    return ";" if ";" in header and "," not in header else ","


def _checked_structure(path: Path, text: str, separator: str) -> tuple[tuple[str, ...], int]:
    """The column names and the number of rows, once every row has as many cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    names: tuple[str, ...] = ()
    n_rows = 0
    try:
        for cells in reader:
            if len(cells) < 2 and not "".join(cells).strip():  # a blank line, which pandas skips too
                continue
            if not names:
                names = checked_names(cells, str(path))
            elif len(cells) != len(names):
                raise DataError(
                    f"every row of {path} must have {len(names)} cells, as its header has; "
                    f"line {reader.line_num} has {len(cells)}"
                )
            else:
                n_rows += 1
    except csv.Error as error:
        raise DataError(f"{path} must be a well-formed table; line {reader.line_num}: {error}") from error
    return names, n_rows


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
