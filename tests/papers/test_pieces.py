"""Pieces of an experiment, measured side by side: the same rows whoever measured them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest

from engine_here import Here
from fedleak.core.attack import Reference
from fedleak.engines.engine import engine_named
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import Experiment, Row, reproduce, result_json
from fedleak.papers.pieces import Piece, measure_side_by_side, one_value
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.progress import Progress, Silent
from fedleak.trial.spent import cpu_seconds

BUSY = 0.2  # seconds of CPU time
TICK = 0.01  # of the clock, which is read as a sum of several
N_PIECES = 4


def busy_square(number: int) -> list[int]:
    until = cpu_seconds() + BUSY  # the clock that is tested: another would be between its ticks
    while cpu_seconds() < until:
        pass
    return [number**2]


def squares_of_both(number: int, journal: MeasuredJournal) -> None:
    for each in (number, number + 100):
        journal.measured(["of", each], lambda each=each: each**2)


class Squares(Experiment):
    name = "none/squares"
    summary = "numbers, squared"
    reference = Reference("none", "table 1")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        for number, piece in enumerate(self.pieces(quick=quick)):
            yield Row({"number": number}, {"square": float(piece.measure(self.kept)[0])})

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [one_value(["square", number], lambda number=number: busy_square(number)) for number in range(N_PIECES)]


def test_an_engine_gives_the_same_rows_and_all_cpu_time_is_counted_once() -> None:
    alone = reproduce(Squares(), quick=True, progress=Silent())
    engine = Here()
    together = reproduce(Squares(), quick=True, progress=Silent(), engine=engine)
    assert together.rows == alone.rows
    assert len(engine.done_keys) == len(set(engine.done_keys)) == N_PIECES
    for result in (alone, together):
        assert N_PIECES * BUSY - TICK < result.cpu_seconds < 2 * N_PIECES * BUSY
    assert together.provenance["engine"].startswith("this process: ")
    assert "engine" not in alone.provenance


def test_what_is_interrupted_goes_on_and_measures_nothing_twice(tmp_path) -> None:
    journal = MeasuredJournal(tmp_path / "kept")
    ended = reproduce(Squares(), quick=True, progress=Silent(), kept=journal, engine=Here(ends_after=3))
    assert ended.complete is False
    assert [row.measured["square"] for row in ended.rows] == [0.0, 1.0, 4.0], "what was measured is shown"
    engine = Here()
    again = MeasuredJournal(tmp_path / "kept")
    result = reproduce(Squares(), quick=True, progress=Silent(), kept=again, engine=engine)
    assert (result.complete, len(engine.done_keys)) == (True, 1)
    assert [row.measured["square"] for row in result.rows] == [0.0, 1.0, 4.0, 9.0]


def test_a_piece_may_put_several_values_into_the_journal() -> None:
    """One that has only a part of them is measured again; what it had stays. What its values have in common took its
    time too."""
    journal = MeasuredJournal()
    piece = Piece((["of", 3], ["of", 103]), lambda inner: (busy_square(1), squares_of_both(3, inner)))
    journal.keep(["of", 3], "kept")
    assert not piece.is_in(journal)
    ahead = measure_side_by_side([piece], journal, Here(), Silent())
    assert piece.is_in(journal)
    assert (journal.of(["of", 3]), journal.of(["of", 103])) == (9, 10609)
    assert ahead.complete
    assert BUSY - TICK < ahead.cpu_seconds < 2 * BUSY
    assert sum(entry.cpu_seconds for entry in journal.entries) == pytest.approx(ahead.cpu_seconds)


def test_files_that_were_read_elsewhere_are_in_the_provenance(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("fedleak.papers.pieces.data_read", lambda: {"bank.csv": "12ab"})
    result = reproduce(Squares(), quick=True, progress=Silent(), engine=Here(), kept=MeasuredJournal(tmp_path / "kept"))
    assert result.provenance["data_sha256"]["bank.csv"] == "12ab"
    again = reproduce(Squares(), quick=True, progress=Silent(), kept=MeasuredJournal(tmp_path / "kept"))
    assert again.provenance["data_sha256"]["bank.csv"] == "12ab"
    assert again.provenance["engine"] == result.provenance["engine"]


class Sent(Squares):
    """Pieces that another process can read."""

    name = "none/sent"

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        for piece in self.pieces(quick=quick):
            yield Row({}, {"digits": float(piece.measure(self.kept)[0])})

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [one_value(["digits", number], partial(busy_square, number)) for number in (0, 1)]


def test_processes_of_this_machine_measure_pieces() -> None:
    result = reproduce(Sent(), quick=True, progress=Silent(), engine=engine_named(None, 2))
    assert [row.measured["digits"] for row in result.rows] == [0.0, 1.0]
    assert result.provenance["engine"].startswith("2 processes of this machine: ")
    assert 2 * BUSY - TICK < result.cpu_seconds < 6 * BUSY, "of workers, once; starting them is not counted"


WITH_PIECES = [kind for kind in EXPERIMENTS if kind().pieces(quick=True)]


@pytest.mark.parametrize("kind", WITH_PIECES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("quick", [True, False])
def test_pieces_of_papers_are_apart_and_travel(kind: type[Experiment], quick: bool) -> None:
    import pickle

    pieces = kind().pieces(quick=quick)
    keys = [json.dumps(key) for piece in pieces for key in piece.keys]
    assert len(keys) == len(set(keys))
    assert [pickle.loads(pickle.dumps(piece)).keys for piece in pieces] == [piece.keys for piece in pieces]  # noqa: S301


def test_paper_scale_experiments_have_pieces() -> None:
    names = {kind.name for kind in WITH_PIECES}
    assert names >= {"luo2021/fig5", "luo2021/fig7", "luo2021/fig9", "jin2021/table2", "jin2021/one-gradient"}


@pytest.mark.parametrize("name", ["luo2021/fig9"])
def test_a_papers_experiment_is_the_same_side_by_side(name: str) -> None:
    def figures(result) -> list[object]:
        rows = result_json(result)["rows"]
        return [{**row, "measured": {k: v for k, v in row["measured"].items() if "cpu" not in k}} for row in rows]

    began = cpu_seconds()
    alone, together = (
        reproduce(EXPERIMENTS.get(name)(), quick=True, progress=Silent(), engine=engine) for engine in (None, Here())
    )
    assert figures(alone) == figures(together)
    assert alone.cpu_seconds + together.cpu_seconds == pytest.approx(cpu_seconds() - began, rel=0.2)
