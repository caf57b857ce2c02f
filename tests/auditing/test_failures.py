"""What fails becomes a finding with its reason, and everything else goes on."""

from __future__ import annotations

import threading
import time
from itertools import count

import numpy as np
import pytest

from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.auditing import attacking
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.errors import DataError, InputError
from fedleak.core.finding import Finding, Outcome
from fedleak.core.whole.run import MemorySink
from fedleak.defenses import inexact_sharing
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols.linear.vertical_logistic import VerticalLogistic
from fedleak.trial import isolation, play
from fedleak.trial.progress import Silent
from scenarios import KEY, SMALL, changed

NOISE = "gaussian-noise(sigma=200.0)"
NAMED = changed(
    ('parties = ["fintech"]', 'parties = ["fintech"]\nattacks = ["residual-sign", "own-weights"]'),
    ('parties = ["bank"]', 'parties = ["bank"]\nattacks = ["residual-recovery"]'),
)
UNFORESEEN = [
    MemoryError(),
    RecursionError("maximum recursion depth exceeded"),
    AssertionError("cannot be"),
    TypeError("not a number"),
    np.linalg.LinAlgError("Singular matrix"),
    OSError(28, "No space left on device"),
    DataError("rows must be ...;\ngot none"),
]


def by_attack(work: Audit) -> dict[tuple[str, str | None], Finding]:
    return {(finding.attack, finding.defense): finding for finding in work.report().findings}


def audited(text: str = NAMED) -> Audit:
    """In this process, where tests can make things fail."""
    scenario = parse_scenario(text)
    work = Audit(scenario, plan_audit(scenario), lambda _: MemorySink(), Silent(), Means(isolated=False), run_key=KEY)
    work.run()
    return work


def raises(error: BaseException):
    def instead(*_, **__):
        raise error

    return instead


@pytest.mark.parametrize("error", UNFORESEEN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["attack", "scoring"])
def test_what_an_attack_or_its_scoring_raises_is_a_finding(error, place, monkeypatch):
    if place == "attack":
        monkeypatch.setattr(ResidualSign, "run", raises(error))
    else:
        scored, fails = play.scored, raises(error)

        def only(tried, *rest, **options):
            return (fails if tried.attack is ResidualSign else scored)(tried, *rest, **options)

        monkeypatch.setattr(play, "scored", only)
    work = audited()
    found = by_attack(work)
    for defense in (None, NOISE):
        assert found["residual-sign", defense].outcome is Outcome.ERRORED
        assert found["residual-sign", defense].why.startswith(type(error).__name__)
        assert "\n" not in found["residual-sign", defense].why
        assert found["own-weights", defense].outcome is Outcome.LEAK


@pytest.mark.parametrize("error", UNFORESEEN[:-1], ids=lambda error: type(error).__name__)
def test_what_a_run_raises_is_told_by_its_findings(error, monkeypatch):
    """Only the defended run fails: its noise cannot be drawn."""
    monkeypatch.setattr(inexact_sharing, "_add_noise", raises(error))
    work = audited()
    found = by_attack(work)
    assert found["residual-sign", None].outcome is Outcome.LEAK
    assert found["residual-sign", NOISE].outcome is Outcome.ERRORED
    assert found["residual-sign", NOISE].why.startswith(f"the run failed: {type(error).__name__}")
    assert [run.defense for run in work.report().runs] == [None]


def test_what_a_defense_says_of_a_run_may_fail_too(monkeypatch):
    monkeypatch.setattr(GaussianNoise, "notes", raises(TypeError("not a number")))
    assert by_attack(audited())["residual-sign", NOISE].why == "the run failed: TypeError: not a number"


def test_input_that_a_run_refuses_still_ends_the_audit(monkeypatch):
    monkeypatch.setattr(VerticalLogistic, "run", raises(DataError("labels of bank must be 0 or 1")))
    with pytest.raises(InputError, match="must be 0 or 1"):
        audited()


@pytest.mark.parametrize("place", [ResidualSign, VerticalLogistic])
def test_an_interruption_is_no_failure(place, monkeypatch):
    monkeypatch.setattr(place, "run", raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        audited()


def test_no_attack_begins_after_an_interruption(monkeypatch):
    """One thread is about to begin when Ctrl-C comes: it must not start another server and attack for an hour."""
    about_to_begin, numbers = threading.Event(), count()

    def slow(*arguments):
        if next(numbers):
            about_to_begin.set()
            time.sleep(1.0)
        return draw_knowledge(*arguments)

    class Interrupted(Silent):
        attacks = False

        def begin(self, what: str, total: int | None) -> None:
            self.attacks = what.startswith("attacks")

        def advance(self) -> None:
            if self.attacks:
                assert about_to_begin.wait(10)
                raise KeyboardInterrupt

    monkeypatch.setattr(attacking, "draw_knowledge", slow)
    scenario = parse_scenario(NAMED)
    work = Audit(scenario, plan_audit(scenario), lambda _: MemorySink(), Interrupted(), Means(jobs=2))
    with pytest.raises(KeyboardInterrupt):
        work.run()
    assert isolation._SHARED == []


@pytest.mark.parametrize("wanted", [True, False])
def test_the_traceback_of_a_failed_attack_is_there_for_the_asking(wanted, monkeypatch, capsys):
    monkeypatch.setenv("FEDLEAK_TRACEBACK", "1" if wanted else "")
    monkeypatch.setattr(ResidualSign, "run", raises(TypeError("not a number")))
    assert any(finding.outcome is Outcome.ERRORED for finding in audited(SMALL).report().findings)
    assert ("Traceback" in capsys.readouterr().err) is wanted
