"""A whole run on disk. Attacks may not import this module.

A capture is everything that went over the wire, and what each party had and computed. The truth lies in a folder of its
own, apart from captures and views.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fedleak.core.adversary import Secret
from fedleak.core.errors import FileFormatError
from fedleak.core.facts import Facts
from fedleak.core.transcript import Message, Record, Transcript
from fedleak.core.whole.run import Captured, Sink
from fedleak.core.whole.truth import SecretValues, Served, Truth
from fedleak.schema.strict_json import Malformed, shown
from fedleak.storage.folder import FolderKind
from fedleak.storage.folder_reader import FolderReader, Lines, MessageLines
from fedleak.storage.folder_writer import FolderWriter
from fedleak.storage.own_folder import OwnFolder
from fedleak.storage.safe_files import DEFAULT_LIMITS, Limits
from fedleak.storage.view_and_guess import LocalRecord, stored_messages, stored_records

TEMPORARY = "fedleak-run-"


@dataclass(frozen=True)
class CaptureContent:
    facts: Facts
    locals: tuple[str, ...]  # the parties whose records are known, be they none


def _check_party(entry: object, content: CaptureContent) -> None:
    if isinstance(entry, LocalRecord) and entry.party not in content.locals:
        raise Malformed(f"party must be one of the header's locals; got {shown(entry.party)}")


CAPTURE = FolderKind("capture", CaptureContent, {"message": Message, "record": LocalRecord}, _check_party)


class DiskSink(Sink):
    """Streams a run to a folder, which appears under its name when the run is finished."""

    def __init__(self, path: str | PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS) -> None:
        self._path = Path(path).absolute()
        self._limits = limits
        self._parties: dict[str, None] = {}
        self._writer = FolderWriter(self._path, CAPTURE, limits, overwrite=overwrite)

    def message(self, message: Message) -> None:
        self._writer.add(message)

    def record(self, party: str, record: Record) -> None:
        self._writer.add(LocalRecord(party, record))
        self._parties[party] = None

    def check(self, facts: Facts) -> None:
        """Raise now what ``finish`` would raise for these facts."""
        self._writer.check(CaptureContent(facts, ()))

    def finish(self, facts: Facts) -> Captured:
        self._writer.finish(CaptureContent(facts, tuple(self._parties)))
        return load_capture(self._path, limits=self._limits)

    def abandon(self) -> None:
        self._writer.abandon()


class TemporarySink(DiskSink):
    """In a folder that goes when nobody reads the run any more."""

    def __init__(self) -> None:
        self._folder = OwnFolder(TEMPORARY)
        self._is_finished = False
        super().__init__(self._folder.path / "run")

    def finish(self, facts: Facts) -> Captured:
        captured = super().finish(facts)
        weakref.finalize(captured.transcript, OwnFolder.remove, self._folder)
        self._is_finished = True
        return captured

    def abandon(self) -> None:
        super().abandon()
        if not self._is_finished:
            self._folder.remove()


def save_capture(
    captured: Captured, path: str | PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS
) -> None:
    with FolderWriter(Path(path), CAPTURE, limits, overwrite=overwrite) as writer:
        for message in captured.transcript.messages:
            writer.add(message)
        for party, records in captured.locals.items():
            for record in records:
                writer.add(LocalRecord(party, record))
        writer.finish(CaptureContent(captured.transcript.facts, tuple(captured.locals)))


def load_capture(path: str | PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Captured:
    folder = FolderReader(Path(path), CAPTURE, limits)
    messages = MessageLines()
    records = {party: Lines() for party in folder.content.locals}
    for line, entry in folder.entries():
        match entry:
            case Message():
                messages.add_message(line, entry)
            case LocalRecord(party, record):
                records[party].add(line, record.name)
    return Captured(
        Transcript(folder.content.facts, stored_messages(folder, messages)),
        {party: stored_records(folder, lines) for party, lines in records.items()},
    )


@dataclass(frozen=True)
class TruthContent:
    secrets: tuple[Secret, ...]  # one entry each, in this order
    served: bool = False  # a last entry has the model that was served


@dataclass(frozen=True, eq=False)
class TrueSecret:
    secret: Secret
    values: SecretValues


TRUTH = FolderKind("truth", TruthContent, {"secret": TrueSecret, "served": Served})


def save_truth(
    truth: Truth, path: str | PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS
) -> None:
    with FolderWriter(Path(path), TRUTH, limits, overwrite=overwrite) as writer:
        for secret in truth.secrets:
            writer.add(TrueSecret(secret, truth.of(secret)))
        if truth.served is not None:
            writer.add(truth.served)
        writer.finish(TruthContent(tuple(truth.secrets), truth.served is not None))


def load_truth(path: str | PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Truth:
    folder = FolderReader(Path(path), TRUTH, limits)
    found = [entry for _, entry in folder.entries()]
    entries = [entry for entry in found if isinstance(entry, TrueSecret)]
    served = [entry for entry in found if isinstance(entry, Served)]
    secrets = tuple(entry.secret for entry in entries)
    if len(served) != int(folder.content.served):
        raise FileFormatError(f"{path} must hold the served model that its header promises, once; got {len(served)}")
    if secrets != folder.content.secrets or len(set(secrets)) != len(secrets):
        raise FileFormatError(f"{path} must hold the secrets that its header lists, each once; got others")
    try:
        return Truth({entry.secret: entry.values for entry in entries}, served[0] if served else None)
    except ValueError as error:  # ids that are not those of the secret
        raise FileFormatError(f"{path}: {error}") from error
