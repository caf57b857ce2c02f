"""Who reads a log sees how far long work is, and no more lines than one in half a minute."""

from __future__ import annotations

from fedleak.cli.bar import SECONDS_A_LINE, LogLines


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
