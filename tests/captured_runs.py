"""A small run, stored as a capture."""

from __future__ import annotations

from pathlib import Path

from fedleak.auditing.captured_audit import plan_captured
from fedleak.core.adversary import SecretKind
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured, Run
from fedleak.core.whole.truth import Truth
from fedleak.storage.capture_and_truth import save_capture
from fedleak.trial.play import Played, play

GIVEN = (SecretKind.FEATURES, SecretKind.LABELS)


def stored(result: Run, folder: Path) -> Path:
    save_capture(Captured(result.transcript, result.locals), folder)
    return folder


def part(truth: Truth, *kinds: SecretKind) -> Truth:
    return Truth({secret: kept for secret, kept in truth.secrets.items() if secret.kind in kinds})


def replayed(transcript: Path, truth: Path | None = None) -> Played:
    return play(plan_captured(transcript, truth).runs[0].federation, Randomness.published(0))
