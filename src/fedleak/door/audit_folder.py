"""The folder that an audit writes to: everything in it is of one audit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fedleak.core.errors import InputError
from fedleak.door.reports import PAGE, REPORT
from fedleak.storage.folder import HEADER, is_ours

TRANSCRIPTS = "transcripts"
DRAFTED = "drafted.toml"  # the scenario that was made of a table


def make_folders(out: Path, transcripts: Path | None) -> list[Path]:
    """Before the work, so that a wrong folder is told at once and not after a long run. Returns what is new."""
    wanted = [out] if transcripts is None else [transcripts, out]
    try:
        new = [folder for folder in wanted if not folder.exists()]
        wanted[0].mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out must be a folder that can be written; got {out} ({error.strerror})") from error
    if not all(os.access(folder, os.W_OK) for folder in wanted):
        raise InputError(f"out must be a folder that can be written; got {out} (Permission denied)")
    return new


def remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it holds what an earlier run left
            folder.rmdir()


def remove_reports(out: Path) -> None:
    """A report beside newer transcripts would tell of another audit; with it goes what a killed process half wrote.

    To be called by who holds the journal: nobody else is writing here.
    """
    for name in (REPORT, PAGE, DRAFTED):
        _remove(out / name)
        stem, _, ending = name.partition(".")
        for half in out.glob(f".{stem}.*.partial.{ending}"):
            half.unlink(missing_ok=True)
    for suffix in ("partial", "replaced"):
        for half in (out / TRANSCRIPTS).glob(f".*.{suffix}"):
            shutil.rmtree(half, ignore_errors=True)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # a folder of that name
        raise InputError(f"out must be a folder that can be written; got {path} ({error.strerror})") from error


def remove_transcripts(out: Path) -> None:
    """Of an earlier audit; what others put there stays."""
    for folder in (out / TRANSCRIPTS).glob("*"):
        if (folder / HEADER).is_file() and is_ours(folder):
            shutil.rmtree(folder, ignore_errors=True)
