"""Writing a whole file or nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from fedleak.core.errors import InputError

ELSEWHERE = "Choose another place"


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work whose result it is to hold. Makes nothing."""
    _refuse_folder(path)
    place = path.absolute().parent
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"{path} must be a file that can be written; {place} is no folder to write to. {ELSEWHERE}")


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} must be a file that can be written; got a folder. Name a file in it")


def write_whole(path: Path, text: str) -> None:
    """Write to a temporary name beside the file, then rename: no reader ever sees a half-written one.

    The folder is made if it is not there.
    A lone surrogate (a file name that is not UTF-8 can bring one in) is written as a question mark.
    """
    _refuse_folder(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(text.encode("utf-8", errors="replace"))
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"{path} must be a file that can be written; got: {error.strerror or error}. {ELSEWHERE}"
        ) from error
    finally:
        with suppress(OSError):  # the folder itself may be what is wrong
            temporary.unlink(missing_ok=True)
