"""The page on scale is made from its committed result, and the result is within what is promised."""

from __future__ import annotations

from dataclasses import replace

import cost_table
from cost_page import page

THEORY = "## Which attacks still work there, by theory"
RESULT, TABLES = cost_table.results()


def test_the_page_is_that_of_the_result_and_theory_still_says_so() -> None:
    """Attacks that came since may be missing from it, until somebody makes it again (``make docs``)."""
    figures, found = cost_table.PAGE.read_text(encoding="utf-8").split(THEORY)
    expected_figures, expected = page(RESULT, TABLES).split(THEORY)
    assert figures == expected_figures
    for line, now in zip(found.splitlines(), expected.splitlines(), strict=True):
        for cell, cell_now in zip(line.split("|"), now.split("|"), strict=True):
            assert set(cell.strip().split(", ")) - {"none"} <= set(cell_now.strip().split(", "))


def test_every_time_is_predicted_within_30_percent_and_every_byte_exactly() -> None:
    assert len(RESULT["compared"]) == len(cost_table.SETTINGS) * len(cost_table.SIZES)
    for row in RESULT["compared"]:
        assert abs(row["ratio"] - 1) <= cost_table.ALLOWED
        assert row["measured_megabytes"] == row["predicted_megabytes"]


def test_a_ratio_is_measured_over_predicted() -> None:
    row = cost_table.Compared("x", 1, 1, 1, 2.0, 3.0, 1.0, 1.0)
    assert row.ratio == 1.5
    assert replace(row, measured_seconds=1.0).ratio == 0.5


def test_pairs_of_parties_grow_with_the_square_and_an_arbiter_does_not() -> None:
    large = {row["protocol"]: row["counted"]["encryptions"] for row in RESULT["large"]}
    n_parties, n_rows = cost_table.LARGE_PARTIES, cost_table.LARGE_ROWS
    assert large["vertical-logistic"] == n_parties * (n_parties - 1) * n_rows
    assert large["vertical-logistic-arbiter"] == (n_parties - 1) * n_rows
    assert large["secureboost"] == n_rows
