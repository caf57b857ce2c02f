from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fedleak.core.errors import DataError
from fedleak.data import from_arrays, from_pandas


def test_every_kind_of_pandas_column() -> None:
    frame = pd.DataFrame(
        {
            "integer": [1, 2, 3],
            "small": np.array([1, 2, 3], dtype=np.uint8),
            "real": np.array([0.5, np.nan, 1.5], dtype=np.float32),
            "boolean": [True, False, True],
            "text": ["a", None, "b"],
            "category": pd.Categorical([1.0, 2.0, None]),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "decimal": [Decimal("1.5"), None, Decimal(2)],
            "mixed": pd.Series([1, "x", None], dtype=object),
        }
    )
    columns = {column.name: column for column in from_pandas(frame).columns}
    assert columns["integer"].values.dtype == np.int64
    assert columns["small"].values.tolist() == [1, 2, 3]
    assert np.array_equal(columns["real"].values, [0.5, np.nan, 1.5], equal_nan=True)
    assert columns["boolean"].values.tolist() == ["true", "false", "true"]
    assert columns["text"].values.tolist() == ["a", None, "b"]
    assert columns["category"].values.tolist() == ["1", "2", None]
    assert np.array_equal(columns["nullable"].values, [1, np.nan, 3], equal_nan=True)
    assert columns["maybe"].values.tolist() == ["true", None, "false"]
    assert np.array_equal(columns["decimal"].values, [1.5, np.nan, 2], equal_nan=True)
    assert columns["mixed"].values.tolist() == ["1", "x", None]
    assert columns["text"].missing.tolist() == [False, True, False]
    assert columns["real"].missing.tolist() == [False, True, False]
    assert not columns["integer"].missing.any()


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(["2024-01-01", "2024-01-02"]),
        np.array([1j, 2j]),
        pd.Series([[1], [2]], dtype=object),
        pd.Series([b"x", b"y"], dtype=object),
    ],
)
def test_other_columns_are_refused_and_can_be_dropped(column: object) -> None:
    frame = pd.DataFrame({"when": column, "a": [1, 2]})
    with pytest.raises(DataError, match=r"column 'when' must hold numbers or texts.*drop = \[.when.\]"):
        from_pandas(frame)
    assert from_pandas(frame, drop=("when",)).names == ("a",)


def test_repeated_columns_of_a_frame() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(DataError, match=r"'a' more than once"):
        from_pandas(frame)


def test_arrays_with_names_and_text_labels() -> None:
    table = from_arrays(np.arange(6).reshape(3, 2), np.array(["u", "v", "u"]), ["p", "q"], target="label")
    assert table.names == ("p", "q")
    assert table.columns[1].values.tolist() == [1, 3, 5]
    assert table.target is not None
    assert table.target.name == "label"
    assert table.target.values.tolist() == ["u", "v", "u"]
    assert from_arrays(np.zeros((1, 2))).names == ("x0", "x1")
    assert from_arrays(np.array([[True], [False]])).columns[0].values.tolist() == [1, 0]


def test_arrays_of_wrong_shapes() -> None:
    matrix = np.zeros((3, 2))
    with pytest.raises(DataError, match=r"X must be a matrix"):
        from_arrays(np.zeros(3))
    with pytest.raises(DataError, match=r"X must be a matrix"):
        from_arrays(np.array([["a"]]))
    with pytest.raises(DataError, match=r"y must be a vector of 3 labels"):
        from_arrays(matrix, np.zeros(2))
    with pytest.raises(DataError, match=r"names must name the 2 columns"):
        from_arrays(matrix, names=["a"])
    with pytest.raises(DataError, match=r"must not be the name of a column"):
        from_arrays(matrix, np.zeros(3), ["a", "target"])
    with pytest.raises(DataError, match=r"at least one row"):
        from_arrays(np.zeros((0, 2)))
