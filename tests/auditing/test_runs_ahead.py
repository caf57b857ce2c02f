"""Runs that other processes train: the same audit, whoever trains, and nothing is left behind."""

from __future__ import annotations

import os
import threading
import time

import pytest

from fedleak.auditing import runs_ahead
from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.runs_ahead import RunsAhead, Standby
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.auditing.time_left import TIME_SPENT
from fedleak.auditing.trainings import StoredTraining, in_memory
from fedleak.core.errors import TimeSpentError
from fedleak.core.finding import Outcome
from fedleak.core.whole.run import MemorySink
from fedleak.crypto.cores import Helper, using
from fedleak.door.audits import _Sinks
from fedleak.trial.progress import Silent
from scenarios import KEY, changed

REAL = changed(
    ('cipher = "sealed"', 'cipher = "paillier"\nkey_bits = 1024'),
    ("max_rows = 100", "max_rows = 30"),
    ('[[adversary]]\nparties = ["bank"]\n', ""),
    ('parties = ["fintech"]', 'parties = ["fintech"]\nattacks = ["residual-sign"]'),
)


@pytest.fixture
def every_run_is_long(monkeypatch):
    monkeypatch.setattr(runs_ahead, "LEAST_CIPHERTEXTS", 1)


@pytest.fixture
def trained_by_others(monkeypatch) -> list[bool]:
    """For each run that the audit came to: did it get it from another process?"""
    taken = RunsAhead.taken

    def noted(self, place, seconds_left):
        played = taken(self, place, seconds_left)
        found.append(played is not None)
        return played

    found: list[bool] = []
    monkeypatch.setattr(RunsAhead, "taken", noted)
    return found


def work(sinks=in_memory, progress=None, **more) -> Audit:
    scenario = parse_scenario(REAL)
    return Audit(scenario, plan_audit(scenario), sinks, progress or Silent(), Means(jobs=2, **more), run_key=KEY)


def figures(audit: Audit) -> list[tuple[object, ...]]:
    return [(f.attack, f.adversary, f.defense, f.outcome, f.score) for f in audit.report().findings]


@pytest.fixture(scope="module")
def alone() -> list[tuple[object, ...]]:
    audit = work()
    with using(1):
        audit.run()
    return figures(audit)


@pytest.mark.usefixtures("every_run_is_long")
def test_the_second_run_comes_from_another_process_and_is_the_same(trained_by_others, alone):
    audit = work()
    with using(2):
        audit.run()
    assert trained_by_others == [False, True]
    assert figures(audit) == alone


@pytest.mark.usefixtures("every_run_is_long")
def test_further_runs_come_from_the_process_that_trained_the_first_and_are_the_same(trained_by_others):
    by_itself, helped = work(repeats=3), work(repeats=3)
    with using(1):
        by_itself.run()
    trained_by_others.clear()
    with using(2):
        helped.run()
    assert trained_by_others[:4] == [False, False, False, True]  # the first with its further ones, then the second
    assert figures(helped) == figures(by_itself)


@pytest.mark.usefixtures("every_run_is_long")
def test_a_process_that_stood_by_is_taken_and_one_that_nobody_wants_ends(trained_by_others, alone):
    with Standby(2) as standby:
        waiting = list(standby._helpers)
        audit = work(standby=standby)
        with using(2):
            audit.run()
    assert trained_by_others == [False, True]
    assert figures(audit) == alone
    assert not any(helper.alive for helper in waiting)


def test_attempts_wait_for_cores_on_which_others_train(monkeypatch):
    asked = threading.Event()

    class Slow:
        def __init__(self, **_) -> None:
            pass

        def ask(self, *_) -> None:
            asked.wait()

        def answer(self) -> str:
            return "played"

        def interrupt(self) -> None:
            pass

    monkeypatch.setattr(runs_ahead, "Helper", Slow)
    entered = []

    def attempt(ahead: RunsAhead) -> None:
        with ahead.one_core():
            entered.append(ahead.n_busy)

    with RunsAhead([(1, 0)], lambda _: None, n_processes=1, n_attempts=2) as ahead:
        with ahead.one_core():  # one of two cores is there while the process trains
            second = threading.Thread(target=attempt, args=[ahead])
            second.start()
            assert entered == []
            asked.set()
            second.join()
        assert entered == [0]
        assert ahead.taken((1, 0), lambda: None) == "played"


def test_short_runs_are_worth_no_process(trained_by_others, monkeypatch):
    monkeypatch.setattr(runs_ahead, "Helper", None)  # to be called by nobody
    audit = work()
    with using(2):
        audit.run()
    assert trained_by_others == [False, False]


@pytest.mark.usefixtures("every_run_is_long")
def test_a_run_that_another_process_cannot_train_is_trained_here(trained_by_others, alone):
    audit = work(sinks=lambda _: MemorySink())  # a function without a name travels nowhere
    with using(2):
        audit.run()
    assert trained_by_others == [False, False]
    assert figures(audit) == alone


@pytest.mark.usefixtures("every_run_is_long")
def test_a_process_that_is_killed_costs_its_run_and_no_more(trained_by_others, alone, monkeypatch):
    ask = Helper.ask

    def killed(self, asked, part):
        ask(self, asked, part)
        if asked is StoredTraining.train:
            self.kill()

    monkeypatch.setattr(Helper, "ask", killed)
    audit = work()
    with using(2):
        audit.run()
    assert trained_by_others == [False, False]
    assert figures(audit) == alone


def test_time_that_is_spent_while_another_process_trains_is_no_failure_of_the_run(monkeypatch):
    def spent(*_):
        raise TimeSpentError(TIME_SPENT)

    monkeypatch.setattr(RunsAhead, "taken", spent)
    audit = work()
    with pytest.raises(TimeSpentError, match=TIME_SPENT):
        audit.run()
    assert {finding.outcome for finding in audit.report().findings} == {Outcome.SKIPPED}


@pytest.mark.usefixtures("every_run_is_long")
def test_an_interruption_ends_the_process_and_leaves_no_half_a_transcript(tmp_path, monkeypatch):
    started: list[Helper] = []

    class Noted(Helper):
        def __init__(self, **loads) -> None:
            super().__init__(**loads)
            started.append(self)

    class Interrupted(Silent):
        def advance(self) -> None:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                if any(folder.name.startswith(".gaussian") for folder in tmp_path.iterdir()):  # the other one is at it
                    raise KeyboardInterrupt
                time.sleep(0.002)

    monkeypatch.setattr(runs_ahead, "Helper", Noted)
    with pytest.raises(KeyboardInterrupt), using(2):
        work(_Sinks(tmp_path, keep_keys=False), Interrupted()).run()
    assert len(started) == 1
    assert not started[0].alive
    assert os.listdir(tmp_path) in ([], ["no-defense"])
