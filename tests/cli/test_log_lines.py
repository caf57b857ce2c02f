"""Who reads a log sees how far long work is, and no more lines than one in half a minute; a terminal has two bars."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fedleak.cli import bar as bars
from fedleak.cli.bar import SECONDS_A_LINE, Bar, LogLines, left_words, percent
from fedleak.trial.progress import Standing


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(seconds_a_unit: float, n_units: int, total: int | None) -> list[str]:
    clock = Clock()
    told = LogLines("audits", total, clock)
    found = []
    for _ in range(n_units):
        clock.now += seconds_a_unit
        found.append(told.advanced())
    return [line for line in found if line is not None]


def test_a_line_has_what_is_done_and_what_is_left() -> None:
    assert lines(10.0, 6, 120)[0] == "audits: 3 of 120, 20 min left at this pace"
    assert len(lines(10.0, 6, 120)) == 2
    assert lines(SECONDS_A_LINE, 2, None) == ["audits: 1 done", "audits: 2 done"]


def test_short_work_and_its_end_say_nothing() -> None:
    assert lines(0.5, 40, 40) == []
    assert lines(SECONDS_A_LINE, 2, 2) == ["audits: 1 of 2, 30 s left at this pace"]


def test_a_line_says_how_far_everything_is_where_that_is_known() -> None:
    clock = Clock()
    told = LogLines("attacks, no defense", 4, clock)
    clock.now += SECONDS_A_LINE
    line = told.advanced(Standing(0.25, 300.0, guessed=False))
    assert line == "attacks, no defense: 1 of 4, 90 s left at this pace; in all 25%, about 5 min left"


def test_a_guess_is_called_one_and_nothing_is_done_before_its_end() -> None:
    assert left_words(Standing(0.1, 7200.0, guessed=True)) == "perhaps 2.0 h left"
    assert percent(Standing(0.999, 2.0, guessed=False)) == "99%"
    assert percent(Standing(1.0, 0.0, guessed=False)) == "100%"


@pytest.fixture
def terminal(monkeypatch) -> Console:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(bars, "plain_console", lambda **_: console)
    return console


def drawn(bar: Bar, console: Console) -> list[str]:
    with console.capture() as text:
        console.print(bar._bar.get_renderable())
    return [line for line in text.get().splitlines() if line.strip()]


def test_a_terminal_shows_all_of_it_above_the_piece_at_work(terminal) -> None:
    bar = Bar()
    bar.begin("training", 4)
    bar.stand(Standing(0.0, 80.0, guessed=True))
    bar.begin("attacks", 3)
    bar.stand(Standing(0.5, 40.0, guessed=False))
    bar.advance()
    in_all, piece = drawn(bar, terminal)
    assert in_all.startswith("in all")
    assert "50%" in in_all
    assert "about 40 s left" in in_all
    assert piece.startswith("attacks")
    assert "1/3" in piece


def test_work_whose_end_nobody_foresees_has_one_bar(terminal) -> None:
    bar = Bar()
    bar.begin("tables", 4)
    bar.advance()
    (piece,) = drawn(bar, terminal)
    assert "1/4" in piece
