"""Advice that ``fedleak advise --json`` wrote, read back; a file from a stranger is refused in one line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedleak.advising.advice import SCHEMA_VERSION, Advice, Point
from fedleak.advising.remedy import Change, Cost, LeakLeft, Remedy
from fedleak.advising.worth import Worth
from fedleak.core.errors import FileFormatError
from fedleak.schema import strict_json
from fedleak.schema.codec import Bounds, Reading
from fedleak.schema.codec_containers import decode
from fedleak.schema.plain import JSON
from fedleak.schema.strict_json import Malformed

MAX_BYTES = 4 * 2**20
INTEGER_BITS = 1024


@dataclass(frozen=True, kw_only=True)
class KeptRemedy:
    """What follows from the rest (``leak``, ``closes``, ``loss``) is computed anew, and not believed."""

    edit: str
    changes: tuple[str, ...]
    ideal_functionality: tuple[str, ...]
    further_parties: tuple[str, ...]
    breaks: tuple[str, ...]
    leak_left: tuple[LeakLeft, ...]
    unanswered: tuple[str, ...]
    confirmed: bool
    usefulness: Worth | None
    usefulness_before: Worth | None
    leak: float = 0.0
    closes: bool = False
    loss: float | None = None
    not_measured: tuple[str, ...] = ()

    def remedy(self) -> Remedy:
        change = Change(self.changes, self.edit, None, self.ideal_functionality, self.further_parties)
        cost = Cost(self.usefulness_before, self.usefulness)
        return Remedy(change, self.breaks, self.leak_left, self.unanswered, cost, self.confirmed, self.not_measured)


@dataclass(frozen=True, kw_only=True)
class KeptAdvice:
    schema_version: int
    title: str
    leaks: tuple[LeakLeft, ...]
    remedies: tuple[KeptRemedy, ...]
    points: tuple[Point, ...]
    metric: str | None
    baseline: float | None
    n_audits: int
    n_ruled_out_by_theory: int
    n_not_runnable: int
    notes: tuple[str, ...]
    interrupted: bool
    verdict: str = ""
    closes: bool = False

    def advice(self) -> Advice:
        return Advice(
            self.title,
            self.leaks,
            tuple(one.remedy() for one in self.remedies),
            self.points,
            self.metric,
            self.baseline,
            self.n_audits,
            self.n_ruled_out_by_theory,
            self.n_not_runnable,
            self.notes,
            self.interrupted,
        )


def read_advice(path: Path) -> Advice:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileFormatError(f"{path} must be at most {MAX_BYTES:,} bytes; got {path.stat().st_size:,}")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{path} must be advice that can be read; got: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} must be JSON in UTF-8; got other bytes") from None
    try:
        kept = decode(KeptAdvice, strict_json.parse(text, integer_bits=INTEGER_BITS), JSON, Reading(Bounds()))
        if kept.schema_version != SCHEMA_VERSION:
            raise Malformed(f"must be {SCHEMA_VERSION}; got {kept.schema_version}").within("schema_version")
    except Malformed as error:
        raise FileFormatError(f"{path}: {error.told('the advice')}") from error
    return kept.advice()
