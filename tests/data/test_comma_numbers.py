"""Decimal commas and thousands: read where a column can mean one thing alone, said, and left alone otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedleak.auditing.own_table import Wishes, drafted
from fedleak.data.sources import load
from fedleak.data.sources.comma_numbers import BEFORE_DECIMALS, BETWEEN_THOUSANDS, UNCLEAR, way_of


@pytest.mark.parametrize(
    ("cells", "way"),
    [
        (["12,5", "7", "-0,25"], BEFORE_DECIMALS),
        (["1.234,5", "12,0"], BEFORE_DECIMALS),
        (["1,234.50", "12"], BETWEEN_THOUSANDS),
        (["1,234,567", "8"], BETWEEN_THOUSANDS),
        (["0,125", "1,250"], BEFORE_DECIMALS),  # no thousand begins with a zero
        (["1,234", "5,678"], UNCLEAR),
        (["1,5", "a"], ""),
        (["Bonn, Rhine", "Paris"], ""),
        (["1.5", "2"], ""),
        ([], ""),
    ],
)
def test_a_column_is_read_the_one_way_in_which_it_can_be(cells: list[str], way: str) -> None:
    assert way_of(cells) == way


def table(tmp_path: Path, text: str, encoding: str = "utf-8") -> str:
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_missing_cells_stay_missing_and_the_reading_is_noted(tmp_path: Path) -> None:
    found = load(table(tmp_path, "income;age\n1.200,50;30\n;41\n900,25;52\n"))
    np.testing.assert_array_equal(found.columns[0].values, [1200.5, np.nan, 900.25])
    assert found.notes == (f"{BEFORE_DECIMALS}: income",)


def test_what_can_be_read_both_ways_stays_a_text_and_is_said(tmp_path: Path) -> None:
    found = load(table(tmp_path, 'a,b\n"1,234",1\n"5,678",2\n'))
    assert found.columns[0].is_text
    assert found.notes == (f"{UNCLEAR}: a",)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_mark_of_the_header_separates_and_names_in_quotes_do_not_count(tmp_path: Path, mark: str) -> None:
    found = load(table(tmp_path, f'"net, yearly, euro"{mark}age\n1{mark}2\n3{mark}4\n'))
    assert found.names == ("net, yearly, euro", "age")


def test_text_of_spreadsheets_in_sixteen_bits_is_read(tmp_path: Path) -> None:
    assert load(table(tmp_path, "stadt\talter\nKöln\t3\nBonn\t4\n", "utf-16")).columns[0].values[0] == "Köln"


def test_a_table_from_another_country_is_drafted_with_its_numbers(tmp_path: Path) -> None:
    rows = [f"{i},5;{20 + i};{i * 7 % 11},25;{i % 2}" for i in range(12)]
    source = table(tmp_path, "\n".join(["einkommen;alter;korb;ausfall", *rows]) + "\n")
    draft = drafted(source, Wishes(target="ausfall", mine="einkommen,alter", partners=("korb",)))
    assert [party.columns for party in draft.scenario.parties] == [("einkommen", "alter"), ("korb",)]
    assert f"{BEFORE_DECIMALS}: einkommen, korb" in draft.remarks
    assert getattr(draft.scenario.settings, "batch_size", None) == 10  # of 12 rows, all that are trained on


@pytest.mark.parametrize("n_rows", [1, 2, 9])
def test_a_table_of_a_few_rows_is_refused_in_a_line(tmp_path: Path, n_rows: int) -> None:
    rows = [f"{i},{i},{i % 2}" for i in range(n_rows)]
    with pytest.raises(Exception, match=f"10 rows or more, or luck cannot be told; got {n_rows}"):
        drafted(table(tmp_path, "\n".join(["a,b,y", *rows]) + "\n"), Wishes(target="y", mine="a"))
