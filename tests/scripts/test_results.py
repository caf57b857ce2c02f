"""Committed figures against new ones: the comparison can fail, and says where."""

from __future__ import annotations

from copy import deepcopy

import pytest

import results

COMMITTED = {
    "experiment": "none/tiny",
    "rows": [
        {"setting": {"rows": 10}, "measured": {"error": 0.5, "missing": None, "cpu_seconds": 3.0}},
        {"setting": {"rows": 20}, "measured": {"error": 0.0, "missing": None, "cpu_seconds": 4.0}},
    ],
}


def changed(row: int, **figures: float | None) -> dict[str, object]:
    now = deepcopy(COMMITTED)
    now["rows"][row]["measured"].update(figures)
    return now


def test_equal_results_agree() -> None:
    assert results.compare(COMMITTED, deepcopy(COMMITTED)) == []
    assert results.n_compared(COMMITTED) == 4


@pytest.mark.parametrize("figures", [{"error": 0.505}, {"cpu_seconds": 300.0}])
def test_rounding_and_timings_are_no_difference(figures: dict[str, float]) -> None:
    assert results.compare(COMMITTED, changed(0, **figures)) == []


@pytest.mark.parametrize(
    ("row", "figures", "words"),
    [
        (0, {"error": 0.6}, "row 0 rows 10, error: 0.5 became 0.6 (+20.0%)"),
        (1, {"error": 0.001}, "row 1 rows 20, error: 0 became 0.001"),
        (0, {"missing": 1.0}, "row 0 rows 10, missing: None became 1"),
        (0, {"error": None}, "row 0 rows 10, error: 0.5 became None"),
        (1, {"new": 2.0}, "row 1 rows 20, new: None became 2"),
    ],
)
def test_a_difference_is_told_with_its_place(row: int, figures: dict[str, float | None], words: str) -> None:
    assert [str(found) for found in results.compare(COMMITTED, changed(row, **figures))] == [words]


def test_another_number_of_rows_or_another_setting_is_a_difference() -> None:
    fewer, other = deepcopy(COMMITTED), deepcopy(COMMITTED)
    fewer["rows"].pop()
    other["rows"][1]["setting"]["rows"] = 21
    assert [str(found) for found in results.compare(COMMITTED, fewer)] == ["number of rows: 2 became 1"]
    assert [str(found) for found in results.compare(COMMITTED, other)] == ["row 1, setting: rows 20 became rows 21"]


def test_the_page_says_what_agreed_and_what_not() -> None:
    differences = results.compare(COMMITTED, changed(0, error=0.6))
    outcomes = [
        results.Outcome("none/same", 4, [], 1.0),
        results.Outcome("none/tiny", 4, differences, 1.0),
        results.Outcome("none/broken", 4, [], error="failed: no data"),
    ]
    page = results.page(outcomes, "abc1234", {"numpy": "2.0", "time": "now"}, [])
    assert [outcome.agrees for outcome in outcomes] == [True, False, False]
    assert "commit abc1234" in page
    assert "| none/same | 4 | agree | 1 |" in page
    assert "| none/tiny | 4 | 1 differ | 1 |" in page
    assert "| none/broken | 4 | failed: no data | 0 |" in page
    assert "- row 0 rows 10, error: 0.5 became 0.6 (+20.0%)" in page


def test_a_wrong_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert results.main(["hu2022/fig99"]) == 2
    assert "hu2022/fig4" in capsys.readouterr().err
