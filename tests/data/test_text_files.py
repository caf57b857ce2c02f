from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fedleak.core.errors import DataError
from fedleak.data import load
from fedleak.data.sources import text_files

PLAIN = "age,job,income\n31,clerk,1.5\n44,nurse,2.25\n"


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_csv_gives_numbers_and_texts(tmp_path: Path) -> None:
    table = load(write(tmp_path, "t.csv", PLAIN), target="income")
    assert table.names == ("age", "job")
    assert table.columns[0].values.tolist() == [31, 44]
    assert table.columns[1].values.tolist() == ["clerk", "nurse"]
    assert table.target is not None
    assert table.target.values.tolist() == [1.5, 2.25]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.gz", gzip.compress(PLAIN.encode())),
        ("t.tsv", PLAIN.replace(",", "\t")),
        ("t.tsv.gz", gzip.compress(PLAIN.replace(",", "\t").encode())),
        ("semicolon.csv", PLAIN.replace(",", ";")),
        ("bom.csv", "\ufeff" + PLAIN),
        ("blank-lines.csv", PLAIN.replace("\n", "\n\n")),
        ("blank-ends.csv", PLAIN + "  \n \t\n"),
        ("crlf.csv", PLAIN.replace("\n", "\r\n")),
        ("spaces.csv", PLAIN.replace(",", ", ")),
        ("quoted.csv", PLAIN.replace("clerk", '"clerk"')),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "content",
)
def test_other_spellings_of_the_same_table(tmp_path: Path, name: str, content: str | bytes) -> None:
    plain = load(write(tmp_path, "plain.csv", PLAIN))
    other = load(write(tmp_path, name, content))
    assert other.names == plain.names
    for ours, theirs in zip(other.columns, plain.columns, strict=True):
        assert ours.values.tolist() == theirs.values.tolist()


def test_a_separator_inside_quotes_is_part_of_the_cell(tmp_path: Path) -> None:
    table = load(write(tmp_path, "t.csv", 'a,b\n"x, y",1\n"z\nw",2\n'))
    assert table.columns[0].values.tolist() == ["x, y", "z\nw"]


def test_numbers_keep_every_bit(tmp_path: Path) -> None:
    numbers = np.random.default_rng(7).standard_normal(200) * 1e-3
    table = load(write(tmp_path, "t.csv", "a\n" + "\n".join(map(repr, numbers.tolist()))))
    assert np.array_equal(table.columns[0].values, numbers)


def test_relative_paths_start_at_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "t.csv", PLAIN)
    assert load("t.csv", folder=tmp_path).n_rows == 2


def test_missing_marks_and_drop(tmp_path: Path) -> None:
    source = write(tmp_path, "t.csv", "id,a,b\n7,1,x\n8,?,unknown\n")
    table = load(source, drop=("id",), missing_marks=("?", "unknown"))
    assert table.names == ("a", "b")
    assert np.array_equal(table.columns[0].values, [1.0, np.nan], equal_nan=True)
    assert table.columns[1].values.tolist() == ["x", None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ("  \n\n", "it is empty"),
        ("a,b\n", "at least one row"),
        ("a,b\n1,2\n3\n", "line 3 has 1"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3"),
        ('a,b\n1,2\n"\t"\n', "got 1 with a blank alone"),
        ("a,b,a\n1,2,3\n", "'a' more than once"),
        ("a, a\n1,2\n", "'a' more than once"),
        (",a\n0,2\n", "column 1 of .* has none"),
        ('a,b\n"1,2\n', "well-formed"),
        (b"a\xff,b\n1,2\n", "UTF-8 text; byte 1 is not"),
        (b"a,b\n1,\x002\n", "NUL bytes"),
    ],
)
def test_malformed_files_have_one_clear_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        load(write(tmp_path, "bad.csv", content))
    assert "\n" not in str(raised.value)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, "customers.csv", PLAIN)
    with pytest.raises(DataError, match=r'nothing is at .*costumers\.csv\. Did you mean "customers\.csv"\?'):
        load(str(tmp_path / "costumers.csv"))
    with pytest.raises(DataError, match=r"its folder does not exist either"):
        load(str(tmp_path / "no" / "customers.csv"))


def test_what_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "plainfolder").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"is a folder"):
        load(str(tmp_path / "folder.csv"))
    with pytest.raises(DataError, match=r"is a folder"):
        load(str(tmp_path))
    with pytest.raises(DataError, match=r"is a folder"):
        load("plainfolder", folder=tmp_path)
    with pytest.raises(DataError, match=r"a device, a pipe or a socket"):
        load(str(tmp_path / "pipe.csv"))


def test_unknown_kinds_of_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must end in \.csv\.gz"):
        load(write(tmp_path, "table.xlsx", b"PK"))
    with pytest.raises(DataError, match=r"must end in \.csv\.gz"):
        load("")


def test_damaged_gzip(tmp_path: Path) -> None:
    for content in (PLAIN.encode(), gzip.compress(PLAIN.encode())[:-12]):
        with pytest.raises(DataError, match=r"must be a gzip file"):
            load(write(tmp_path, "t.csv.gz", content))


@pytest.mark.parametrize("name", ["small.csv", "small.csv.gz"])
def test_a_small_file_takes_little_memory(tmp_path: Path, name: str) -> None:
    content = b"a\n1\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    tracemalloc.start()
    try:
        assert text_files.read_bounded(path) == content
        assert tracemalloc.get_traced_memory()[1] < 10 * text_files.PIECE_BYTES
    finally:
        tracemalloc.stop()


def test_a_decompression_bomb_stops_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_FILE_BYTES", 1000)
    bomb = gzip.compress(b"a\n" + b"1\n" * 100_000)
    assert len(bomb) < 1000
    with pytest.raises(DataError, match=r"at most 1,000 bytes once decompressed"):
        load(write(tmp_path, "bomb.csv.gz", bomb))


def test_unknown_target_and_drop(tmp_path: Path) -> None:
    source = write(tmp_path, "t.csv", PLAIN)
    with pytest.raises(DataError, match=r"target must be a column of .*; got 'incme'. Did you mean .income."):
        load(source, target="incme")
    with pytest.raises(DataError, match=r'Known: "age", "job", "income"'):
        load(source, target="zzzz")
    with pytest.raises(DataError, match=r'drop must name columns of .*Did you mean "age"'):
        load(source, drop=("agee",))
    with pytest.raises(DataError, match=r"must not be dropped"):
        load(source, target="age", drop=("age",))
    with pytest.raises(DataError, match=r"at least one feature column"):
        load(source, target="age", drop=("job", "income"))


@pytest.mark.parametrize("name", ["a" * 5000 + ".csv", "a" * 5000, "zero\0byte.csv"])
def test_a_path_that_no_system_takes_is_an_error_and_no_traceback(name: str) -> None:
    with pytest.raises(DataError, match="a data file must have a path that can be looked up"):
        load(name)
