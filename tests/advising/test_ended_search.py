"""A search that is ended keeps what it has, and calls nothing closing that was not confirmed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tiny_federation import TINY

from fedleak.advising.advice import base_of
from fedleak.advising.measured import Bench, Measured
from fedleak.advising.remedy import Change, Cost, LeakLeft, Remedy
from fedleak.advising.search import MOST_LONGER, Search
from fedleak.advising.worth import Worth, worth_of
from fedleak.auditing.frames import FrameOptions
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.errors import InputError, TimeSpentError
from fedleak.data import load_table
from fedleak.door.advised import sought
from fedleak.door.given import given
from fedleak.trial.progress import Progress
from scenarios import KEY


class Impatient(Progress):
    """Ctrl-C when so many audits are done."""

    def __init__(self, n_left: int) -> None:
        self._n_left = n_left

    def begin(self, what: str, total: int | None) -> None:
        pass

    def advance(self) -> None:
        self._n_left -= 1
        if not self._n_left:
            raise KeyboardInterrupt


def test_what_was_found_is_kept() -> None:
    wanted = given(parse_scenario(TINY), FrameOptions())
    found = sought(wanted, budget="9m", most=40, jobs=1, key=KEY, progress=Impatient(8))
    assert isinstance(found.interrupted, KeyboardInterrupt)
    assert found.advice.interrupted
    assert found.advice.n_audits == 8
    assert found.advice.remedies, "something lowers the leak by then"
    assert not found.advice.closes
    assert not any(one.closes or one.confirmed for one in found.advice.remedies)


def test_a_time_that_is_too_short_for_one_audit_is_told() -> None:
    wanted = given(parse_scenario(TINY), FrameOptions())
    with pytest.raises(InputError, match="--budget must leave time for one audit"):
        sought(wanted, budget="0.001s", most=40, jobs=1, key=KEY, progress=Impatient(100))


def test_withheld_predictions_are_worth_a_blind_guess() -> None:
    figures, blind = {"released_share": 0.5, "prediction_accuracy": 0.9}, {"prediction_accuracy": 0.3}
    half = worth_of(figures, blind)
    assert half is not None
    assert half.value == pytest.approx(0.6)
    fewer = worth_of({**figures, "released_share": 1.0}, blind, served=0.5)
    assert fewer is not None
    assert fewer.value == pytest.approx(0.6)
    nothing = worth_of({"released_share": 0.0}, blind)
    assert nothing is not None
    assert nothing.value == 0.3
    assert nothing.worthless


def measured(worth: Worth | None) -> Measured:
    return Measured(parse_scenario(TINY), report=None, left=(), open=(), closed=(), worth=worth)


def test_a_change_under_which_training_overflows_is_no_remedy() -> None:
    search = Search(parse_scenario(TINY), bench=None, progress=Impatient(1), most=2)
    search.found.append(measured(Worth("test_accuracy", 0.9, 0.5)))
    overflowed = measured(None)
    assert overflowed.closes
    assert search.is_ruined(overflowed)
    assert not search.merit(overflowed)[0]
    assert search.is_ruined(measured(Worth("test_accuracy", 0.5, 0.5, "no better than a blind guess")))
    assert not search.is_ruined(measured(Worth("test_accuracy", 0.8, 0.5)))
    search.found[0] = measured(None)
    assert not search.is_ruined(overflowed), "where nothing could be judged before, nothing is called ruined"


def test_a_change_that_trains_far_longer_is_not_tried() -> None:
    """A model gets better for ever with more passes: each doubles the search's own time, and the federation's."""
    base = base_of(parse_scenario(TINY))
    bench = Bench(base, load_table(base.data), KEY, repeats=1, jobs=1, n_models=1)
    search = Search(base, bench, Impatient(100), most=20)
    search.found.append(bench.measure(base, bench.planned(base), ()))
    n_tried, n_refused = len(search.found), search.n_refused
    longest = replace(base, settings=replace(base.settings, epochs=MOST_LONGER * base.settings.epochs + 1))
    assert search._tried(search.first, longest) is None
    assert (len(search.found), search.n_refused) == (n_tried, n_refused + 1)


def test_no_model_is_trained_after_the_time() -> None:
    base = base_of(parse_scenario(TINY))
    late = Bench(base, load_table(base.data), KEY, repeats=1, jobs=1, deadline=lambda: 0.0)
    with pytest.raises(TimeSpentError):
        late._worth(base, late.planned(base)[0])


def test_a_change_that_closes_nothing_whole_is_not_told_to_break_none() -> None:
    left = LeakLeft(("bank",), "labels", "own-weights", "low", 0.1, None, None, None)
    some = Remedy(Change(("epochs",), "", None), (), (left,), (), Cost(None, None), confirmed=True)
    assert next(iter(some.lines())) == "does not close everything; lowers what leaks"
    assert next(iter(replace(some, breaks=("scores to bank",)).lines())).endswith(
        "everything; breaks 1: scores to bank"
    )
