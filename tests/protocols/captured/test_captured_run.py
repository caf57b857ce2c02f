"""A capture replayed: the same findings as the run had, and claims where there is no truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from captured_runs import GIVEN, part, replayed, stored
from fedleak.auditing.captured_audit import plan_captured
from fedleak.auditing.runner import Audit
from fedleak.core.errors import InputError, UnknownNameError
from fedleak.core.finding import Finding, Outcome
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Hook, HookKind
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import MemorySink
from fedleak.protocols.captured.captured import CapturedRun, CapturedSettings
from fedleak.protocols.linear.vocabulary import SHARED_SCORE
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import save_truth
from fedleak.trial.progress import Silent


def audited(transcript: Path, truth: Path | None = None, *attacks: str) -> dict[tuple[str, ...], Finding]:
    found = plan_captured(transcript, truth, attacks)
    audit = Audit(found.scenario, found.runs, lambda _: MemorySink(), Silent(), left_out=found.left_out)
    audit.run()
    return {(*finding.adversary, finding.attack): finding for finding in audit.report().findings}


def test_replaying_goes_through_play_and_gives_what_was_captured(tmp_path, small):
    _, result = small
    settings = CapturedSettings(str(stored(result, tmp_path / "capture")))
    played = replayed(tmp_path / "capture")
    assert len(played.run.transcript.messages) == len(result.transcript.messages)
    assert played.seen_by(("fintech",)).capabilities == CapturedRun.reveals(settings, (), ("fintech",))
    assert played.facts.batch_size == 6
    assert not played.run.truth.complete


def test_a_run_that_is_over_takes_no_hook(tmp_path, small):
    settings = CapturedSettings(str(stored(small[1], tmp_path / "capture")))
    hook = Hook(SHARED_SCORE, HookKind.SEND, "bank", lambda value, local, rng: value)
    with pytest.raises(InputError, match="is over"):
        CapturedRun().run(
            Federation("captured", (), settings),
            facts=small[1].transcript.facts,
            randomness=Randomness.published(0),
            hooks=(hook,),
            sink=MemorySink(),
        )


def test_with_its_truth_a_capture_has_the_findings_of_its_run(tmp_path, small):
    _, result = small
    save_truth(part(result.truth, *GIVEN), tmp_path / "truth")
    findings = audited(stored(result, tmp_path / "capture"), tmp_path / "truth")
    sign, recovery = findings["fintech", "residual-sign"], findings["fintech", "residual-recovery"]
    assert (sign.outcome, recovery.outcome) == (Outcome.LEAK, Outcome.LEAK)
    assert sign.score is not None
    assert sign.score.value == 1.0
    assert "one run" in findings["fintech", "own-weights"].why
    assert "one run" not in sign.why, "an exact claim is decided by one run"
    assert not {finding.outcome for finding in findings.values()} & {Outcome.ERRORED, Outcome.UNCHECKED}


def test_without_a_truth_nothing_is_scored(tmp_path, small):
    findings = audited(stored(small[1], tmp_path / "capture"))
    assert all(finding.score is None and finding.exhibit is None for finding in findings.values())
    sign = findings["fintech", "residual-sign"]
    assert sign.is_proved
    assert sign.claim is not None
    assert sign.claim.n_cells == 24
    claimed = findings["fintech", "own-weights"]
    assert (claimed.outcome, claimed.is_proved) == (Outcome.UNCHECKED, False)


def test_attacks_for_others_are_left_out_and_a_named_one_is_reported(tmp_path, small):
    transcript = stored(small[1], tmp_path / "capture")
    assert "equality-solving" in plan_captured(transcript).left_out
    named = audited(transcript, None, "equality-solving")
    assert {finding.outcome for finding in named.values()} == {Outcome.SKIPPED}
    assert "the transcript does not give fintech" in named["fintech", "equality-solving"].why
    with pytest.raises(UnknownNameError):
        plan_captured(transcript, None, ["no-such-attack"])


def test_a_capture_that_is_written_again_is_read_again(tmp_path):
    for width in (2, 3):
        with Recorder(tmp_path / "c", {"bank": "active", "fintech": "passive"}, overwrite=True) as recorder:
            recorder.record("fintech", "features", np.ones((4, width)), ids=range(4))
        facts = CapturedRun.facts(CapturedSettings(str(tmp_path / "c")), (), None)
        assert facts.party("fintech").n_features == width
