"""A grid beside advice: worthless models are no better advice, and where there is nothing to compare that is said."""

from __future__ import annotations

import pytest

import advisor_grid
from fedleak.advising.measured import Measured
from fedleak.advising.worth import Worth


def measured(value: float, baseline: float = 0.5, *, closes: bool = True) -> Measured:
    worth = Worth("test_accuracy", value, baseline, "" if value > baseline else "no better than a guess")
    return Measured(None, None, left=() if closes else (object(),), open=(), closed=(), worth=worth)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("top", "best", "holds"),
    [
        (measured(0.9), measured(0.91), True),
        (measured(0.9), measured(0.93), False),
        (measured(0.9), None, True),
        (measured(0.4), measured(0.6), False),  # a worthless change is behind any useful cell
        (measured(0.4), None, None),
        (None, None, None),
        (None, measured(0.6), False),
        (measured(0.9, closes=False), measured(0.6), False),
    ],
)
def test_the_line_holds_or_does_not_or_has_nothing_to_compare(top, best, holds):
    assert advisor_grid._holds(top, best) is holds


def test_the_page_has_the_table_of_what_is_kept():
    page = (advisor_grid.RESULTS.parent / "advise.md").read_text(encoding="utf-8")
    shown = page.partition(advisor_grid.BEGIN)[2].partition(advisor_grid.END)[0]
    assert shown == advisor_grid.table()
    assert shown.count("\n| ") == len(list(advisor_grid.RESULTS.glob("advisor_*.json")))
