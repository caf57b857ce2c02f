"""Files from strangers: found or clearly reported missing, and never read beyond a bound."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from fedleak.core.errors import DataError
from fedleak.core.hints import nearest

MAX_FILE_BYTES = 512 * 1024**2  # after decompression; a 1-million-row table of 50 columns stays below it

N_PATH_CHARS_SHOWN = 200


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
            content: bytes = stream.read(MAX_FILE_BYTES + 1)
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


def _neighbour(path: Path) -> str:
    try:
        return nearest(path.name, [entry.name for entry in path.absolute().parent.iterdir()])
    except OSError:
        return ", and its folder does not exist either"
