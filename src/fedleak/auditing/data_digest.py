"""Which data were audited, as SHA-256: for who resumes an audit, and for who holds a report against the data later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path

import numpy as np

from fedleak.auditing.planner import PlannedRun
from fedleak.auditing.scenario import Scenario
from fedleak.core.errors import DataError
from fedleak.core.report import DATA_DIGEST, FILE_DIGEST
from fedleak.core.whole.federation import Federation, Slice
from fedleak.data.sources import source_file
from fedleak.protocols.captured.captured import CapturedSettings


def data_digests(scenario: Scenario, runs: Sequence[PlannedRun]) -> dict[str, str]:
    """Of what the parties held, and of the file that it was read from: that one ``sha256sum`` gives too."""
    settings = scenario.settings
    if isinstance(settings, CapturedSettings):
        return {DATA_DIGEST: sha256(b"".join(_contents(settings))).hexdigest()}
    found = {} if not runs else {DATA_DIGEST: sha256(b"".join(_digests(runs[0].federation))).hexdigest()}
    with suppress(DataError, OSError):  # a data set's public name, or a frame in memory
        file = source_file(scenario.data.source, scenario.folder)
        if file is not None:
            found[FILE_DIGEST] = _of_content(file).hex()
    return found


def _digests(federation: Federation) -> Iterator[bytes]:
    """Piece by piece: a large table is not copied."""
    return (sha256(piece).digest() for piece in _pieces(federation))


def _contents(settings: CapturedSettings) -> Iterator[bytes]:
    for place in (Path(named) for named in (settings.transcript, settings.truth) if named):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file():
                yield sha256(str(file.relative_to(place)).encode("utf-8", "surrogateescape")).digest()
                yield _of_content(file)


def _of_content(file: Path) -> bytes:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").digest()


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
