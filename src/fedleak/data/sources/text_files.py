"""Comma- and tab-separated files from strangers: found or clearly reported missing, never read beyond a bound.

pandas reads the cells, but it fills short rows, renames repeated columns and takes a surplus column
for an index without a word; the structure is therefore checked first.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from fedleak.core.errors import DataError, nearest
from fedleak.data.raw_table import checked_names
from fedleak.data.sources.comma_numbers import with_numbers

if TYPE_CHECKING:
    import pandas as pd

MAX_FILE_BYTES = 512 * 1024**2  # after decompression; a 1-million-row table of 50 columns stays below it
PIECE_BYTES = 1024**2

N_PATH_CHARS_SHOWN = 200
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as spreadsheets save "Unicode text"
SEPARATORS = ",;\t|"  # the first where several are as frequent
QUOTED = re.compile(r'"[^"]*"')


def existing_file(path: Path) -> Path:
    """The path, if it is a regular file; otherwise an error that says where it looked."""
    try:
        path.stat()
    except FileNotFoundError:
        pass  # told below, with the neighbours' names
    except (OSError, ValueError) as error:  # too long a name, a forbidden folder, a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        shown = f"{str(path)[:N_PATH_CHARS_SHOWN]!r}"
        raise DataError(f"a data file must have a path that can be looked up; got {shown} ({reason})") from error
    if path.is_dir():
        raise DataError(f"a data source must be a file; {path} is a folder. Name one of the files in it")
    if not path.exists():
        raise DataError(f"a data file must exist; nothing is at {path.absolute()}{_neighbour(path)}")
    if not path.is_file():
        raise DataError(f"a data source must be a regular file; {path} is a device, a pipe or a socket")
    return path


def read_bounded(path: Path) -> bytes:
    """The file's bytes, decompressed if it ends in .gz. A bomb stops at the bound, not at the end of memory."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            content = _at_most(stream, MAX_FILE_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} must be a gzip file, as its name says; it is damaged or something else") from error
    except OSError as error:
        raise DataError(f"{path} must be readable; got: {error.strerror or error}") from error
    if len(content) > MAX_FILE_BYTES:
        raise DataError(
            f"{path} must hold at most {MAX_FILE_BYTES:,} bytes once decompressed; it holds more. "
            "Give a sample of its rows, or a .parquet file"
        )
    return content


def _at_most(stream: IO[bytes] | gzip.GzipFile, n_bytes: int) -> bytes:
    """In pieces: asked for all at once, Python sets that much memory aside, for a file of ten bytes too."""
    content = io.BytesIO()
    while content.tell() < n_bytes and (piece := stream.read(min(PIECE_BYTES, n_bytes - content.tell()))):
        content.write(piece)
    return content.getvalue()


def _neighbour(path: Path) -> str:
    try:
        return nearest(path.name, [entry.name for entry in path.absolute().parent.iterdir()])
    except OSError:
        return ", and its folder does not exist either"


def read_delimited(path: Path, missing_marks: Collection[str] = ()) -> pd.DataFrame:
    import pandas as pd

    text = _decoded_text(path)
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
    return with_numbers(frame)


def _exact_floats(pandas_version: str) -> Literal["round_trip"] | None:
    """pandas reads numbers to the last bit by default from 3.1 on; before, only when asked."""
    major, minor = pandas_version.split(".")[:2]
    return None if (int(major), int(minor)) >= (3, 1) else "round_trip"


def _decoded_text(path: Path) -> str:
    content = read_bounded(path)
    try:
        text = content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} must be UTF-8 text; byte {error.start} is not. "
            "A table from Excel or Windows in Western Europe: iconv -f cp1252 -t utf-8 OLD.csv > NEW.csv"
        ) from error
    if "\0" in text:
        raise DataError(f"{path} must be a text file; it holds NUL bytes")
    if not text.strip():
        raise DataError(f"{path} must hold a table; it is empty")
    return text


def _separator(path: Path, text: str) -> str:
    """The mark that is most frequent in the header, names in quotation marks aside; a comma where none is."""
    if ".tsv" in path.suffixes:
        return "\t"
    header = QUOTED.sub("", text.lstrip("\n\r ").split("\n", 1)[0])
    return max(SEPARATORS, key=header.count)


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
