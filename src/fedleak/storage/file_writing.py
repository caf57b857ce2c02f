"""Single files appear whole or not at all, and one that cannot be written is one clear error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from fedleak.core.errors import InputError

ELSEWHERE = "Choose another place"
OWNER_ONLY = 0o600


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


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary name beside the file, of the same ending, renamed at the end: no reader sees a half-written one.

    The folder is made if it is not there.
    """
    _refuse_folder(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        with told_as_input(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            temporary.replace(path)
    finally:
        with suppress(OSError):  # the folder itself may be what is wrong
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """A lone surrogate (a file name that is not UTF-8 can bring one in) is written as a question mark.

    ``private``: readable by its owner alone. A device or a pipe is written to, and not replaced by a file.
    """
    data = text.encode("utf-8", errors="replace")
    if path.exists() and not path.is_file() and not path.is_dir():
        with told_as_input(path):
            path.write_bytes(data)
        return
    made = partial(os.open, mode=OWNER_ONLY if private else 0o666)
    with written_whole(path) as temporary, open(temporary, "xb", opener=made) as file:
        file.write(data)


@contextmanager
def told_as_input(path: Path) -> Iterator[None]:
    """A full disk, a missing permission: one clear error."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} must be a file that can be written; got: {error.strerror or error}. {ELSEWHERE}"
        ) from error


def locked(descriptor: int) -> bool:
    """Whether this process alone now holds the file or folder; the system gives it back however the process ends."""
    try:
        import fcntl
    except ImportError:  # no such thing there, and nobody is refused
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
