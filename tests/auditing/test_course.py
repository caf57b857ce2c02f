"""How far an audit is as a whole: learnt from pieces that are done, and never less than was said before."""

from __future__ import annotations

import pytest

from fedleak.auditing.course import Course, Kind, Piece
from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.whole.run import MemorySink
from fedleak.trial.progress import Progress, Standing
from scenarios import KEY, SMALL


class Noted(Progress):
    def __init__(self) -> None:
        self.begun: list[tuple[str, int | None]] = []
        self.notes: list[str] = []
        self.standings: list[Standing] = []
        self.n_advanced = 0

    def begin(self, what: str, total: int | None) -> None:
        self.begun.append((what, total))

    def advance(self) -> None:
        self.n_advanced += 1

    def note(self, text: str) -> None:
        self.notes.append(text)

    def stand(self, standing: Standing) -> None:
        self.standings.append(standing)


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def of_run(place: int, ciphertexts: float = 1000, attacks: float = 4) -> list[Piece]:
    return [Piece(place, Kind.CIPHERTEXTS, ciphertexts), Piece(place, Kind.ATTACKS, attacks)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def noted() -> Noted:
    return Noted()


def work(course: Course, clock: Clock, what: str, seconds: list[float]) -> None:
    """A piece of so many units, each of which takes so long."""
    course.begin(what, len(seconds))
    for one in seconds:
        clock.now += one
        course.advance()


def test_what_is_left_follows_from_what_was_done(clock, noted):
    course = Course(noted, of_run(0) + of_run(1, ciphertexts=3000), clock)
    course.reach(0)
    work(course, clock, "training", [5.0, 5.0])
    work(course, clock, "attacks", [0.5] * 4)
    course.reach(1)
    course.begin("training", 2)
    last = noted.standings[-1]
    assert last.seconds_left == pytest.approx(3 * 10 + 2), "three times as many ciphertexts, as many attacks"
    assert last.share == pytest.approx(12 / 44)
    assert not last.guessed
    clock.now += 15.0
    course.advance()
    assert noted.standings[-1].seconds_left == pytest.approx(15 + 2)
    assert noted.standings[-1].share == pytest.approx(27 / 44)


def test_the_end_is_all_of_it(clock, noted):
    course = Course(noted, of_run(0), clock)
    course.reach(0)
    work(course, clock, "training", [3.0])
    work(course, clock, "attacks", [1.0] * 4)
    assert noted.standings[-1] == Standing(1.0, 0.0, guessed=False)


def test_before_anything_of_a_kind_was_done_a_guess_stands_for_it_and_is_called_one(clock, noted):
    course = Course(noted, of_run(0), clock)
    course.reach(0)
    course.begin("training", 2)
    assert noted.standings[-1] == Standing(0.0, 1000 * 0.001 + 4 * 1.0, guessed=True)
    clock.now += 8.0
    course.advance()
    assert noted.standings[-1].guessed, "nobody knows how long attacks take"
    assert noted.standings[-1].seconds_left == pytest.approx(8 + 4)
    work(course, clock, "attacks", [2.0])
    assert not noted.standings[-1].guessed


def test_a_bar_never_goes_back(clock, noted):
    course = Course(noted, of_run(0) + of_run(1), clock)
    course.reach(0)
    work(course, clock, "training", [1.0] * 4)
    work(course, clock, "attacks", [1.0, 1.0, 300.0, 300.0])
    shares = [one.share for one in noted.standings]
    assert shares == sorted(shares)
    assert noted.standings[-1].seconds_left == pytest.approx(4 + 602), "the time left may well grow"


def test_a_run_that_fails_leaves_its_attacks_behind(clock, noted):
    course = Course(noted, of_run(0) + of_run(1), clock)
    course.reach(0)
    work(course, clock, "training", [10.0])
    course.reach(1)
    course.begin("training", None)
    assert noted.standings[-1].seconds_left == pytest.approx(10 + 4)
    course.advance()
    assert noted.standings[-1].seconds_left == pytest.approx(10 + 4), "of unknown length: no unit counts"


def test_everything_is_passed_on(clock, noted):
    course = Course(noted, of_run(0), clock)
    course.reach(0)
    work(course, clock, "training", [1.0] * 3)
    course.note("to know")
    assert (noted.begun, noted.n_advanced, noted.notes) == ([("training", 3)], 3, ["to know"])


@pytest.mark.parametrize("repeats", [1, 2])
def test_an_audit_knows_its_pieces_before_it_begins_them(repeats, noted):
    """Each piece that is begun was foreseen, in this order: at the last attack nothing is left."""
    scenario = parse_scenario(SMALL)
    runs = plan_audit(scenario)
    work = Audit(scenario, runs, lambda _: MemorySink(), noted, Means(repeats=repeats, isolated=False), run_key=KEY)
    work.run()
    assert len(noted.begun) == len(runs) * (2 if repeats == 1 else 3)
    last = noted.standings[-1]
    assert (last.share, last.seconds_left) == (1.0, 0.0)
    assert all(one.seconds_left > 0 for one in noted.standings[:-1])
