"""What an audit has found so far, by its place in the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from fedleak.auditing.planner import PlannedRun
from fedleak.core.finding import Finding
from fedleak.core.report import RunSummary
from fedleak.core.whole.federation import Federation, Slice
from fedleak.protocols.captured.captured import CapturedSettings


class Kept:
    """In memory alone. A journal writes everything down as it comes, and brings what an earlier audit left."""

    def __init__(self) -> None:
        self.findings: dict[int, Finding] = {}  # by the place of the task, over all runs of the plan
        self.summaries: dict[int, RunSummary] = {}  # by the place of the run

    def add_finding(self, place: int, finding: Finding) -> None:
        self.findings[place] = finding

    def add_summary(self, place: int, summary: RunSummary) -> None:
        self.summaries[place] = summary


def digest_of(runs: Sequence[PlannedRun]) -> str:
    """Of what is asked and of the data: an audit goes on where it stopped only if both are as they were."""
    found = sha256()
    for planned in runs:
        for task in planned.tasks:
            told = (task.attack.name, task.adversary.parties, task.adversary.mode.value, str(task.target), task.skip)
            found.update(repr((planned.deviation, planned.deviating, *told)).encode())
    for federation in {id(planned.federation): planned.federation for planned in runs}.values():
        for piece in _pieces(federation):
            found.update(piece)
    return found.hexdigest()


def _pieces(federation: Federation) -> Iterator[bytes]:
    for party in federation.parties:
        yield repr((party.name, party.role.value, party.columns)).encode()
        for held in (party.train, party.test):
            yield from () if held is None else _of_slice(held)
    settings = federation.settings
    if isinstance(settings, CapturedSettings):  # its federation holds no rows
        yield from (_of_files(Path(place)) for place in (settings.transcript, settings.truth) if place)


def _of_slice(held: Slice) -> Iterator[bytes]:
    for values in (held.ids, held.features, held.labels):
        if values is not None:
            yield repr((values.dtype.str, values.shape)).encode()
            yield np.ascontiguousarray(values).tobytes()


def _of_files(place: Path) -> bytes:
    """Names, sizes and times alone: a captured run may be larger than memory."""
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    told = [(str(file.relative_to(place)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return repr(told).encode()
