from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from fedleak.core.errors import DataError, MissingExtraError
from fedleak.data import load
from fedleak.data.sources import text_files

pa = pytest.importorskip("pyarrow")


def test_parquet_gives_the_frame_that_was_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, None, 1.5], "c": ["x", "y", None], "d": [True, False, True]})
    frame.to_parquet(tmp_path / "t.parquet")
    table = load(str(tmp_path / "t.parquet"), target="d")
    assert table.names == ("a", "b", "c")
    assert table.columns[0].values.tolist() == [1, 2, 3]
    assert table.columns[1].missing.tolist() == [False, True, False]
    assert table.columns[2].values.tolist() == ["x", "y", None]
    assert table.target is not None
    assert table.target.values.tolist() == ["true", "false", "true"]


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=r"must be a Parquet file"):
        load(str(tmp_path / "t.parquet"))


def test_texts_that_are_not_utf8(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    forged = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(pa.table({"a": forged}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"must be a Parquet file; got: .*UTF8"):
        load(str(tmp_path / "t.parquet"))


def test_cells_are_counted_before_they_are_decompressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame({"a": [0.0] * 10_000}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(text_files, "MAX_FILE_BYTES", 79_999)
    with pytest.raises(DataError, match=r"it declares 80,"):
        load(str(tmp_path / "t.parquet"))


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"fedleak\[parquet\]"):
        load(str(tmp_path / "t.parquet"))
