"""A time that somebody has: what is made smaller for it, in which order, and what is said of it."""

from __future__ import annotations

import time
from unittest.mock import Mock

import pytest

from fedleak.auditing.attacking import Attacking
from fedleak.auditing.budget import FOR_RUNS, as_settings, budget_seconds, fitted, reduction_words, settings_words
from fedleak.auditing.changed_scenario import changed as with_settings
from fedleak.auditing.estimate import Size, Speeds, estimate_words, work_of
from fedleak.auditing.means import Means
from fedleak.auditing.planner import Task, plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.runs_ahead import RunsAhead
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.auditing.time_left import TIME_SPENT
from fedleak.core.errors import InputError, ScenarioError, TimeSpentError
from fedleak.core.finding import Outcome
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import MemorySink
from fedleak.crypto.cipher_speed import CipherSpeed
from fedleak.door.told_progress import Told
from fedleak.report import html, json_format
from fedleak.trial.play import NO_LIMITS
from fedleak.trial.progress import Silent
from scenarios import KEY, SMALL, changed

REAL = changed(('cipher = "sealed"', 'cipher = "paillier"'), ("max_rows = 100", "max_rows = 500"))
FREE = CipherSpeed(0, 0, 0, 0, 0, 0, 0)
SPEEDS = Speeds(CipherSpeed(0, 1, 0, 0, 0, 0, 0), FREE)  # a second an encryption, and nothing else takes time


@pytest.fixture(scope="module")
def runs():
    return plan_audit(parse_scenario(REAL))


def test_all_runs_are_counted_those_with_a_defense_and_the_repeated_ones_too(runs):
    once, five = work_of(runs, 1), work_of(runs, 5)
    n_rows = runs[0].federation.n_rows
    assert once.real.encryptions == 2 * 2 * 4 * n_rows  # runs, directions, epochs
    assert (once.n_real, once.n_ideal, five.n_real, five.n_ideal) == (2, 0, 2, 8)
    assert five.real == once.real
    assert five.ideal.encryptions == 4 * once.real.encryptions
    assert "2 under the real cipher, 8 under the ideal one" in estimate_words(five, SPEEDS)


def seconds_for(runs, size: Size) -> float:
    return SPEEDS.seconds(work_of(runs, 5, size)) / FOR_RUNS


def test_rows_go_first_then_epochs_then_the_real_cipher(runs):
    whole = runs[0].federation.n_rows
    assert fitted(runs, 5, SPEEDS, seconds_for(runs, Size())).size == Size()
    assert fitted(runs, 5, SPEEDS, seconds_for(runs, Size(rows=300))).size == Size(rows=300)
    assert fitted(runs, 5, SPEEDS, seconds_for(runs, Size(rows=300)) - 1).size == Size(rows=299)
    assert fitted(runs, 5, SPEEDS, seconds_for(runs, Size(rows=200, epochs=3))).size == Size(rows=200, epochs=3)
    smallest = fitted(runs, 5, SPEEDS, 1.0)
    assert smallest.size == Size(rows=200, epochs=1, ideal=True)
    assert smallest.seconds == 0
    assert whole > 300


def test_what_was_made_smaller_is_what_runs_then_and_is_said(runs):
    scenario = parse_scenario(REAL)
    size = Size(rows=200, epochs=1, ideal=True)
    words = settings_words(as_settings(runs, size))
    smaller = plan_audit(with_settings(scenario, words))
    settings = smaller[0].federation.settings
    assert (smaller[0].federation.n_rows, settings.epochs, settings.cipher) == (200, 1, "sealed")
    told = list(reduction_words(runs, smaller, "1m", 30.0))
    assert told[0].startswith(f"to fit 1m, 200 of {runs[0].federation.n_rows} training rows")
    assert "to within 6.9 points instead of" in told[0]
    assert told[1] == "to fit 1m, 1 of 4 epochs were run"
    assert "how real ciphertexts look was not tried" in told[2]
    assert told[3].startswith("theory expects something else of attacks on the whole: residual-sign by fintech ")
    assert list(reduction_words(runs, runs, "1m", 30.0)) == [
        "theory expects of every attack on the whole what it expects here"
    ]
    assert len(told) == 4
    assert list(reduction_words(runs, smaller, "1m", 41.0))[4].startswith("1m is less than the smallest audit takes")


def test_a_size_as_planned_changes_nothing(runs):
    assert as_settings(runs, Size()) == {}
    assert as_settings(runs, Size(rows=runs[0].federation.n_rows)) == {}


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1.5h", 5400), (" 2 m ", 120)])
def test_times(text, seconds):
    assert budget_seconds(text) == seconds


@pytest.mark.parametrize("text", ["5", "m", "-1m", "0s", "5 minutes", "1e3s", ""])
def test_what_is_no_time_is_told(text):
    with pytest.raises(InputError, match="--budget must be a time such as 90s"):
        budget_seconds(text)


def test_keys_of_a_scenario_are_changed_strictly():
    scenario = parse_scenario(SMALL)
    found = with_settings(scenario, ("epochs=2", "max_rows=50", "test_share=0.5", "seed=9", "initialisation=xavier"))
    assert (found.settings.epochs, found.data.max_rows, found.seed) == (2, 50, 9)
    assert (found.partition.test_share, found.settings.initialisation) == (0.5, "xavier")
    assert found.defenses == scenario.defenses
    assert with_settings(scenario, ()) is scenario
    for word, message in (("epochs=two", "epochs"), ("epoch=2", "epoch"), ("epochs=0", "1 or more")):
        with pytest.raises(ScenarioError, match=message):
            with_settings(scenario, (word,))
    with pytest.raises(InputError, match="--set must be KEY=VALUE"):
        with_settings(scenario, ("epochs",))


def test_after_its_time_nothing_begins_and_the_report_says_so(runs):
    late = Audit(parse_scenario(REAL), runs, lambda _: MemorySink(), Silent(), Means(deadline=0.0), reduced=("less",))
    with pytest.raises(TimeSpentError):
        late.run()
    report = late.report(unfinished=TIME_SPENT)
    assert report.interrupted
    assert report.reduced == ("less",)
    assert {finding.outcome for finding in report.findings} == {Outcome.SKIPPED}
    assert json_format.loads(json_format.dumps(report)).reduced == ("less",)
    assert "Smaller:</strong> less." in html.render(report)


def test_a_run_that_takes_longer_than_foreseen_leaves_its_attacks_some_time(monkeypatch):
    """A machine that got busier: half of the time would have been theirs, and a report without one answer is none."""
    told: list[str] = []
    scenario = with_settings(parse_scenario(SMALL), ("max_rows=60", "epochs=1"))
    planned = plan_audit(scenario)[:1]
    slow = Audit(
        scenario,
        planned,
        lambda _: MemorySink(),
        Told(told.append),
        Means(isolated=False, deadline=time.perf_counter() + 0.2, for_first_attacks=60.0),
    )
    trained = slow._train
    monkeypatch.setattr(slow, "_train", lambda *given: (time.sleep(0.3), trained(*given))[1])
    slow.run()
    assert not slow.report().interrupted
    assert "the run took longer than was foreseen; attacks on it have 60 s" in told


def test_attempts_are_ended_when_the_time_is_spent(runs, monkeypatch):
    monkeypatch.setattr(Attacking, "_attack", lambda *_: (time.sleep(0.2), None)[1])
    work = Attacking(Randomness(KEY, 1), NO_LIMITS, jobs=1, isolated=False, replays=False)
    found: list[Task] = []
    nobody = RunsAhead((), Mock(), n_processes=0, n_attempts=1)
    with pytest.raises(TimeSpentError, match=TIME_SPENT):
        work.try_all(runs[0].tasks[:1], [], None, nobody, lambda task, _: found.append(task), lambda: 0.01)
    assert not found
