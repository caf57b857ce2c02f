"""A run that took place elsewhere, as a protocol: running it is replaying what was captured.

What it reveals to whom is inferred from what the transcript holds. The truth comes from a file, where there is one, and
from weights that the transcript records; without it, what attacks say cannot be checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Settings, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured, Run, Sink
from fedleak.protocols import vocabularies
from fedleak.protocols.captured.asked_rows import asked_services
from fedleak.protocols.captured.capture_checks import check_capture
from fedleak.protocols.captured.derived_truth import derived_truth, without_weights
from fedleak.protocols.captured.gradient_file import ENDING, captured_gradient
from fedleak.protocols.captured.holdings import Holdings, holdings_of
from fedleak.protocols.captured.inference import inferred
from fedleak.protocols.captured.truth_file import read_truth
from fedleak.storage.capture_and_truth import load_capture
from fedleak.storage.folder import HEADER

HOW = "fedleak audit --transcript DIR"
NO_TRUTH = "a captured run, without a truth: what attacks answer is not checked"
WITH_TRUTH = "a captured run: one run, checked against the truth that was given"


@dataclass(frozen=True)
class CapturedSettings(Settings):
    transcript: str = setting("", "the folder of the transcript, or a file with one gradient")
    truth: str = setting("", "the truth: a folder that a Recorder wrote, or a CSV file; unchecked without one")


@dataclass(frozen=True, eq=False)
class Opened:
    captured: Captured
    holdings: Holdings


def opened(transcript: str) -> Opened:
    """The transcript with what it holds; read again only where the folder has changed."""
    path = Path(transcript).absolute()
    try:
        found = (path if path.suffix == ENDING else path / HEADER).stat()
        return _opened(path, found.st_mtime_ns, found.st_ino)
    except OSError:
        return _opened(path, 0, 0)  # which says what is wrong


@lru_cache(maxsize=2)
def _opened(path: Path, _changed: int, _number: int) -> Opened:
    captured = captured_gradient(path) if path.suffix == ENDING and not path.is_dir() else load_capture(path)
    check_capture(captured, path)
    clients = {client for service in asked_services(captured).values() for client in service.clients}
    return Opened(captured, holdings_of(captured, clients))


class CapturedRun(Protocol):
    name = "captured"
    summary = f"a run that took place elsewhere, replayed ({HOW})"
    reference = Reference("fedleak", "docs/captures.md")
    settings_type = CapturedSettings
    roles = frozenset(Role)
    named_steps = frozenset(step for vocabulary in vocabularies() for step in vocabulary.steps)
    replays = True

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        """Nothing is written again: messages and records stay where they were captured, and are read from there."""
        if hooks:
            raise InputError("a captured run is over: it must be audited without a defense or a deviation")
        settings = settings_of(self.name, CapturedSettings, federation.settings)
        captured = opened(settings.transcript).captured
        truth = read_truth(Path(settings.truth), captured) if settings.truth else None
        return Run(
            captured.transcript,
            captured.locals,
            derived_truth(truth, captured),
            notes=tuple(_notes(captured, checked=truth is not None)),
            services=asked_services(captured),
        )

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        """Those that the transcript's header has."""
        return opened(settings_of(cls.name, CapturedSettings, settings).transcript).captured.transcript.facts

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        own = settings_of(cls.name, CapturedSettings, settings)
        if not own.transcript:
            return frozenset()
        found = opened(own.transcript)
        return inferred(found.holdings, found.captured.transcript.facts, coalition)


def _notes(captured: Captured, *, checked: bool) -> Iterator[str]:
    yield WITH_TRUTH if checked else NO_TRUTH
    facts = captured.transcript.facts
    if facts.defense is not None:
        yield f"none was added by the audit; the transcript itself declares {facts.defense}"
    missing = without_weights(captured) if checked else ()
    if missing:
        yield f"what follows from the weights of {' and '.join(missing)} is not checked: they are not recorded"
