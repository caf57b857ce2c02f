"""Findings are kept as they come: a line each, appended beside the report and on the disk before the next is tried.

The first line says what was asked, and holds the report as it is before anything was found. A line without its end was
cut off, and is none. Whoever writes the file holds a lock on it, which the system gives back however the process ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from fedleak.auditing.advisor import advice
from fedleak.auditing.kept import Kept
from fedleak.auditing.own_table import Wishes
from fedleak.core.errors import FileFormatError, InputError, RunError
from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Report, RunSummary
from fedleak.report.json_format import BOUNDS, INTEGER_BITS, MAX_CHARACTERS
from fedleak.report.json_keys import FindingKeys, ReportKeys, RunKeys
from fedleak.report.json_translation import finding_keys, findings_of, keys_of, report_of, run_keys, run_of
from fedleak.schema import strict_json
from fedleak.schema.codec import Reading, nowhere
from fedleak.schema.codec_containers import TaggedCodec
from fedleak.schema.plain import JSON
from fedleak.schema.strict_json import Malformed
from fedleak.storage.file_writing import OWNER_ONLY, locked
from fedleak.storage.safe_files import opened
from fedleak.trial.luck import decide_together

JOURNAL = "journal.jsonl"
MAX_BYTES = 2**30
MAX_LINE_BYTES = 4 * MAX_CHARACTERS  # UTF-8 takes at most four bytes a character


@dataclass(frozen=True, kw_only=True)
class Order:
    """What was asked for, so that it can be asked again. ``by_command`` False: from Python, with objects of its own."""

    by_command: bool = False
    folder: str = ""  # that paths are relative to; where the command was given, if empty
    scenario: str | None = None
    wishes: Wishes | None = None  # where the scenario is a table
    transcript: str | None = None
    truth: str | None = None
    coalitions: tuple[str, ...] = ()  # of a transcript, names joined by commas
    attacks: tuple[str, ...] = ()
    repeats: int | None = None
    in_process: bool = False
    redact: bool = False
    keep_keys: bool = False
    attack_seconds: float | None = None
    attack_bytes: int | None = None
    jobs: int | None = None  # attempts side by side, and cores of one run
    budget: str | None = None  # a time, such as 5m
    changed: tuple[str, ...] = ()  # KEY=VALUE of the scenario: what was asked for, and what the time made smaller
    reduced: tuple[str, ...] = ()  # what the report says of that

    def place(self, path: str | None) -> Path | None:
        return None if path is None else Path(self.folder, path)


@dataclass(frozen=True, kw_only=True)
class Began:
    order: Order
    run_key: str
    digest: str  # of the plan and the data
    open: tuple[int, ...]  # places of findings that are to be tried
    report: ReportKeys  # before anything was found


@dataclass(frozen=True, kw_only=True)
class Found:
    place: int
    finding: FindingKeys


@dataclass(frozen=True, kw_only=True)
class Ran:
    place: int
    run: RunKeys


_LINES: Mapping[str, type] = {"began": Began, "found": Found, "ran": Ran}
_CODEC = TaggedCodec("line", _LINES, JSON)


@dataclass(frozen=True, eq=False)
class Recalled:
    """What a journal holds: up to where its lines are whole, and what they say."""

    began: Began
    n_bytes: int
    findings: Mapping[int, Finding]
    summaries: Mapping[int, RunSummary]

    @property
    def report(self) -> Report:
        """Of an audit that may not have come to its end."""
        base = report_of(self.began.report)
        kept = [self.findings.get(place, finding) for place, finding in enumerate(base.findings)]
        findings = decide_together(kept)
        return replace(
            base,
            runs=tuple(summary for _, summary in sorted(self.summaries.items())),
            findings=tuple(findings),
            remedies=advice(findings, base.remedies),
            interrupted=any(place not in self.findings for place in self.began.open),
        )


def recall(path: Path) -> Recalled:
    """What a journal holds; safe on files from strangers."""
    lines: list[Began | tuple[int, Finding | RunSummary]] = []
    n_bytes = 0
    with opened(path) as (descriptor, size), os.fdopen(os.dup(descriptor), "rb") as file:
        if size > MAX_BYTES:
            raise FileFormatError(f"{path} must have at most {MAX_BYTES:,} bytes; got {size:,}")
        for number, line in enumerate(_whole_lines(file, path), 1):
            lines.append(_read(line, path, number))
            n_bytes += len(line)
    if not lines or [isinstance(line, Began) for line in lines[:2]] not in ([True], [True, False]):
        raise FileFormatError(f"{path} must hold the beginning of an audit, and then what it found; got another order")
    first, told = lines[0], [line for line in lines[1:] if not isinstance(line, Began)]
    assert isinstance(first, Began)
    findings = {place: found for place, found in told if isinstance(found, Finding)}
    return Recalled(first, n_bytes, findings, {place: ran for place, ran in told if isinstance(ran, RunSummary)})


def _whole_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
        if line.endswith(b"\n"):
            yield line
        elif len(line) == MAX_LINE_BYTES:
            raise FileFormatError(f"{path}, line {number} must have at most {MAX_LINE_BYTES:,} bytes; got more")


def _read(line: bytes, path: Path, number: int) -> Began | tuple[int, Finding | RunSummary]:
    try:
        entry = _CODEC.decode(strict_json.parse(line, integer_bits=INTEGER_BITS), Reading(BOUNDS))
        if isinstance(entry, Found):
            return entry.place, findings_of([entry.finding])[0]
        if isinstance(entry, Ran):
            return entry.place, run_of(entry.run)
    except Malformed as error:
        raise FileFormatError(f"{path}, line {number}: {error}") from None
    assert isinstance(entry, Began)
    return entry


class Journal(Kept):
    """Open for appending, by one audit at a time."""

    def __init__(self, folder: Path, *, redact: bool) -> None:
        super().__init__()
        self._path = folder / JOURNAL
        self._redact = redact
        with _told(self._path):
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, OWNER_ONLY)
        self.is_new = os.fstat(self._file).st_size == 0
        if not locked(self._file):
            os.close(self._file)
            raise InputError(
                f"out must be a folder that no other audit writes to; got {folder}, where one is running. "
                "Choose another folder, or wait for its end"
            )

    def try_out(self, began: Began) -> None:
        """Raise what ``begin`` would raise for lack of space, and leave what an earlier audit wrote."""
        with _told(self._path):
            before = os.fstat(self._file).st_size
            self._append(began)
            os.ftruncate(self._file, before)

    def begin(self, began: Began) -> None:
        """Anew: whatever an earlier audit wrote is gone."""
        with _told(self._path):
            os.ftruncate(self._file, 0)
            self._append(began)

    def go_on(self, found: Recalled) -> None:
        """With what is there. What failed is tried again; it may have been for lack of space."""
        with _told(self._path):
            os.ftruncate(self._file, found.n_bytes)
        whole = {place: one for place, one in found.findings.items() if one.outcome is not Outcome.ERRORED}
        self.findings.update(whole)
        self.summaries.update(found.summaries)

    def add_finding(self, place: int, finding: Finding) -> None:
        super().add_finding(place, finding)
        kept = replace(finding, exhibit=None) if self._redact else finding
        self._append_or_end(Found(place=place, finding=finding_keys(kept)))

    def add_summary(self, place: int, summary: RunSummary) -> None:
        super().add_summary(place, summary)
        self._append_or_end(Ran(place=place, run=run_keys(summary)))

    def _append_or_end(self, entry: Found | Ran) -> None:
        try:
            self._append(entry)
        except OSError as error:
            raise not_written(self._path, error) from error

    def _append(self, entry: Began | Found | Ran) -> None:
        """Whole or not at all; on the disk before anything else is tried."""
        told = json.dumps(_CODEC.encode(entry, nowhere), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        line = told.encode("utf-8", errors="replace") + b"\n"  # a file name may be no Unicode, as in a report
        before = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise

    def close(self, *, remove: bool = False) -> None:
        """``remove``: nothing came of the audit."""
        if remove:
            self._path.unlink(missing_ok=True)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def not_written(path: Path, error: BaseException) -> RunError:
    """A file of the audit's folder, once the work has begun: no usage was wrong, and the journal has what was found."""
    reason = error.strerror if isinstance(error, OSError) else None
    return RunError(
        f"{path} could not be written: {reason or error}. What was found until then is kept: "
        f"make room, then go on with: fedleak audit --resume {path.parent}"
    )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"out must be a folder that can be written; got {path.parent} ({error.strerror or error})"
        ) from error


def began(report: Report, order: Order, digest: str, places: tuple[int, ...]) -> Began:
    assert report.run_key is not None
    keys = keys_of(report)
    return Began(order=order, run_key=report.run_key, digest=digest, open=places, report=keys)
