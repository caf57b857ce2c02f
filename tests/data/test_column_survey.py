"""What a column seems to be: kinds that people have in their tables, and the borders between them."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.data.column_survey import FEW_ROWS, MOST_CATEGORIES, Nature, survey, surveyed
from fedleak.data.raw_table import RawColumn, RawTable

N = 60


def texts(cells: list[str | None]) -> np.ndarray:
    return np.array(cells, dtype=object)


def nature(values: np.ndarray, name: str = "x") -> Nature:
    return surveyed(RawColumn(name, values)).nature


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.linspace(0, 1, N), Nature.NUMBER),
        (np.arange(N) % 7, Nature.NUMBER),
        (np.arange(N) + 1000, Nature.IDENTIFIER),
        (np.arange(N)[::-1] * 3, Nature.NUMBER),
        (np.arange(N, dtype=np.int64) + 2**60, Nature.IDENTIFIER),
        (np.arange(FEW_ROWS - 1), Nature.NUMBER),
        (np.full(N, 4.0), Nature.CONSTANT),
        (np.full(N, np.nan), Nature.EMPTY),
        (texts([f"2024-{1 + i % 9:02}-{1 + i % 28:02}" for i in range(N)]), Nature.DATE),
        (texts([f"{1 + i % 28}.{1 + i % 9}.24 10:30" for i in range(N)]), Nature.DATE),
        (texts([f"customer {i}" for i in range(N)]), Nature.IDENTIFIER),
        (texts(["north", "south", "east"] * (N // 3)), Nature.CATEGORY),
        (texts([f"town {i % (MOST_CATEGORIES + 1)}" for i in range(N * 3)]), Nature.TEXT),
        (texts([None] * N), Nature.EMPTY),
    ],
)
def test_what_a_column_is(values, expected):
    assert nature(values) is expected


def test_a_name_makes_an_identifier_of_numbers_that_all_differ_and_of_no_others():
    apart = np.arange(N) * 17 + 5
    assert nature(apart, "customer_id") is Nature.IDENTIFIER
    assert nature(apart, "Account No") is Nature.IDENTIFIER
    assert nature(apart, "paid") is Nature.NUMBER
    assert nature(apart // 40, "customer_id") is Nature.NUMBER


def test_a_few_texts_among_numbers_are_marks_of_missing_cells():
    found = surveyed(RawColumn("income", texts(["?", "n.k.", None] + [str(i) for i in range(N)])))
    assert (found.nature, found.marks, found.n_missing, found.n_distinct) == (Nature.NUMBER, ("?", "n.k."), 3, N)
    assert found.is_usable
    many = texts([f"{i} m" if i % 2 else str(i) for i in range(N)])
    assert surveyed(RawColumn("length", many)).marks == ()


def test_the_target_comes_last():
    table = RawTable("t", (RawColumn("a", np.arange(4)),), target=RawColumn("y", np.array([0, 1, 0, 1])))
    assert [column.name for column in survey(table)] == ["a", "y"]
