from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from data_files import require_data
from fedleak.core.errors import DataError
from fedleak.core.knowledge import ColumnKind
from fedleak.data import (
    DataSpec,
    EncodingOptions,
    column_encoding,
    decode,
    decode_cells,
    encode,
    from_arrays,
    from_pandas,
    load_table,
)
from fedleak.data.spec import ScalingName

OF_TABLES = [name for name in get_args(ScalingName) if not name.startswith("pixels")]

UNLABELLED = EncodingOptions(task="none", scaling="none")


def options(**changes: object) -> EncodingOptions:
    return EncodingOptions(**{"task": "none", "scaling": "none", **changes})  # type: ignore[arg-type]


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [31, 44, 58, 23],
            "income": [1.5, 2.25, 0.5, 4.0],
            "sex": [1, 2, 2, 1],
            "job": ["nurse", "clerk", "judge", "clerk"],
            "owner": [True, False, False, True],
            "same": [3.5, 3.5, 3.5, 3.5],
        }
    )


def test_kinds_and_ranges_are_recorded() -> None:
    table = encode(from_pandas(frame()), UNLABELLED)
    kinds = {e.column: e.kind for e in table.encoding}
    assert kinds == {
        "age": ColumnKind.INTEGER,
        "income": ColumnKind.NUMERIC,
        "sex": ColumnKind.BINARY,
        "job": ColumnKind.INTEGER,
        "owner": ColumnKind.BINARY,
        "same": ColumnKind.NUMERIC,
    }
    by_name = {e.column: e for e in table.encoding}
    assert (by_name["age"].low, by_name["age"].high) == (23, 58)
    assert by_name["job"].categories == ("clerk", "judge", "nurse")
    assert table.values[:, 3].tolist() == [2, 0, 1, 0]
    assert by_name["owner"].categories == ("false", "true")
    assert [e.column for e in table.encoding if e.is_constant] == ["same"]
    assert table.ids.tolist() == [0, 1, 2, 3]
    assert not table.values.flags.writeable


def test_one_hot_makes_a_column_for_each_category_but_one_for_two() -> None:
    table = encode(from_pandas(frame()[["job", "owner"]]), options(categorical="one-hot"))
    assert table.columns == ("job=clerk", "job=judge", "job=nurse", "owner")
    assert table.values.tolist() == [[0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1]]
    assert table.source_columns == ("job", "owner")
    assert table.positions_of(("owner", "job")) == (3, 0, 1, 2)


def test_numbers_can_be_declared_categories() -> None:
    table = encode(from_arrays(np.array([[10], [2], [33]])), options(categorical_columns=("x0",)))
    assert table.encoding[0].categories == ("2", "10", "33")
    assert table.values.ravel().tolist() == [1, 0, 2]
    with pytest.raises(DataError, match=r"categorical_columns must be columns; got 'x00'. Did you mean .x0."):
        encode(from_arrays(np.zeros((2, 1))), options(categorical_columns=("x00",)))


def test_too_many_categories_for_one_hot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_encoding, "MAX_ONE_HOT_CATEGORIES", 3)
    raw = from_pandas(pd.DataFrame({"name": ["a", "b", "c", "d"]}))
    with pytest.raises(DataError, match=r'at most 3 categories .*; got 4. Set categorical = "ordinal"'):
        encode(raw, options(categorical="one-hot"))
    assert encode(raw, UNLABELLED).values.ravel().tolist() == [0, 1, 2, 3]


def test_one_hot_names_that_collide() -> None:
    raw = from_pandas(pd.DataFrame({"a": ["x", "y", "z"], "a=x": [1.5, 2.5, 3.5]}))
    with pytest.raises(DataError, match=r"one-hot encoding gives 'a=x' twice"):
        encode(raw, options(categorical="one-hot"))


def test_numbers_with_a_few_texts_are_not_silently_categories() -> None:
    raw = from_pandas(pd.DataFrame({"a": ["1", "2", "?", "3"]}))
    with pytest.raises(DataError, match=r"3 numbers and 1 other texts such as '\?'. Set missing_marks = \[.\?.\]"):
        encode(raw, UNLABELLED)
    assert encode(raw, options(categorical_columns=("a",))).encoding[0].categories == ("1", "2", "3", "?")


def gaps() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "real": [0.5, np.nan, 2.0, 2.0],
            "integer": [1.0, 4.0, np.nan, 5.0],
            "binary": [1, 1, 0, np.nan],
            "text": ["b", None, "a", "b"],
        }
    )


def test_missing_cells_are_an_error_by_default() -> None:
    with pytest.raises(DataError, match=r"column 'real' must have no missing cells; got 1 of 4. Set missing = .mean."):
        encode(from_pandas(gaps()), UNLABELLED)
    with pytest.raises(DataError, match=r"column 'text' must have no missing cells; got 1 of 4"):
        encode(from_pandas(gaps()[["text"]]), UNLABELLED)


def test_missing_cells_filled_keep_the_columns_kind() -> None:
    table = encode(from_pandas(gaps()), options(missing="mean"))
    assert [e.filled_with for e in table.encoding] == [1.5, 3.0, 1.0, 1.0]
    assert [e.n_missing for e in table.encoding] == [1, 1, 1, 1]
    assert [e.kind for e in table.encoding] == [
        ColumnKind.NUMERIC,
        ColumnKind.INTEGER,
        ColumnKind.BINARY,
        ColumnKind.BINARY,
    ]
    assert table.values[1].tolist() == [1.5, 4.0, 1.0, 1.0]
    assert table.values[2].tolist() == [2.0, 3.0, 0.0, 0.0]


def test_rows_with_missing_cells_dropped_keep_their_ids() -> None:
    table = encode(from_pandas(gaps()), options(missing="drop"))
    assert table.ids.tolist() == [0]
    assert table.n_rows_dropped == 3
    with pytest.raises(DataError, match=r"must leave some rows of frame; all 2 have a missing cell"):
        encode(from_pandas(gaps()[1:3]), options(missing="drop"))


def test_an_empty_column_cannot_be_filled() -> None:
    raw = from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, np.nan]}))
    with pytest.raises(DataError, match=r"column 'b' must have some cells; got none at all.*drop = \[.b.\]"):
        encode(raw, options(missing="mean"))


def test_infinite_and_inexact_numbers() -> None:
    with pytest.raises(DataError, match=r"column 'x0' must hold finite numbers; got 1 infinite"):
        encode(from_arrays(np.array([[np.inf], [1.0]])), UNLABELLED)
    with pytest.raises(DataError, match=r"integers up to 2\^53.*got 9007199254740993"):
        encode(from_arrays(np.array([[-(2**53) - 1], [1]])), UNLABELLED)


def test_standard_minmax_and_row_norm() -> None:
    raw = from_pandas(frame()[["age", "income", "same"]])
    standard = encode(raw, options(scaling="standard")).values
    assert np.allclose(standard.mean(axis=0), 0)
    assert np.allclose(standard.std(axis=0), [1, 1, 0])
    minmax = encode(raw, options(scaling="minmax")).values
    assert minmax.min(axis=0).tolist() == [0, 0, 0]
    assert minmax.max(axis=0).tolist() == [1, 1, 0]
    for name in ("max-row-norm", "standard+max-row-norm", "minmax+max-row-norm"):
        table = encode(raw, options(scaling=name))
        assert np.isclose(np.linalg.norm(table.values, axis=1).max(), 1)
        assert np.isclose(table.max_row_norm, 1)
        assert table.scaling == name
    plain, normed = encode(raw, UNLABELLED).values, encode(raw, options(scaling="max-row-norm")).values
    ratio = plain / normed
    assert np.allclose(ratio, ratio[0, 0])  # one constant for the whole table


def test_an_all_zero_table_is_not_divided() -> None:
    for name in OF_TABLES:
        assert not encode(from_arrays(np.zeros((3, 2))), options(scaling=name)).values.any()


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
def test_ranges_beyond_floating_point_are_reported(scaling: str) -> None:
    with pytest.raises(DataError, match=r"column 'x0' must have a range that can be scaled"):
        encode(from_arrays(np.array([[-1.7e308], [1.7e308]])), options(scaling=scaling))
    with pytest.raises(DataError, match=r"column 'x0' must have a range that can be scaled"):
        encode(from_arrays(np.array([[0.0], [5e-324]])), options(scaling=scaling))


def test_encoded_range_is_the_range_of_the_values() -> None:
    for name in OF_TABLES:
        table = encode(from_pandas(frame()), options(scaling=name))
        ranges = np.array([e.encoded_range for e in table.encoding])
        assert np.allclose(ranges[:, 0], table.values.min(axis=0))
        assert np.allclose(ranges[:, 1], table.values.max(axis=0))


def test_max_rows_is_spread_over_the_table() -> None:
    table = encode(from_arrays(np.arange(100).reshape(100, 1)), options(max_rows=4))
    assert table.ids.tolist() == [0, 25, 50, 75]
    assert encode(from_arrays(np.arange(3).reshape(3, 1)), options(max_rows=4)).n_rows == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scaling": "standrad"}, 'scaling must be one of "none".*; got \'standrad\'. Did you mean "standard"'),
        ({"missing": "median"}, 'missing must be one of "error", "mean", "drop", "keep"; got \'median\''),
        ({"categorical": "onehot"}, 'Did you mean "one-hot"'),
        ({"task": "clustering"}, "task must be one of"),
        ({"max_rows": 0}, "max_rows must be at least 1; got 0"),
        ({"positive": "yes"}, 'positive must be left out unless task = "binary"'),
        ({"classes": ("a",)}, "classes must be left out"),
    ],
)
def test_wrong_options(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode(from_pandas(frame()), options(**changes))


def test_a_wrong_option_is_found_before_the_source_is_read() -> None:
    with pytest.raises(DataError, match=r"scaling must be one of"):
        load_table(DataSpec(source="nowhere.csv", scaling="best"))  # type: ignore[arg-type]


def test_decoding_gives_back_words_and_numbers() -> None:
    for mode in ("ordinal", "one-hot"):
        for scaling in OF_TABLES:
            raw = from_pandas(frame())
            back = decode(encode(raw, options(categorical=mode, scaling=scaling)))
            assert tuple(column.name for column in back) == raw.names
            for ours, theirs in zip(back, raw.columns, strict=True):
                if theirs.is_text:
                    assert ours.values.tolist() == theirs.values.tolist()
                else:
                    assert np.allclose(ours.values, theirs.values, rtol=1e-12)


def test_inexact_guesses_decode_to_the_nearest_value() -> None:
    table = encode(from_pandas(frame()[["age", "sex", "job"]]), UNLABELLED)
    age, sex, job = decode_cells(table.encoding, np.array([[31.2, 1.4, -5.0], [43.9, 1.6, 1.4]]))
    assert age.values.tolist() == [31, 44]
    assert sex.values.tolist() == [1, 2]
    assert job.values.tolist() == ["clerk", "judge"]
    with pytest.raises(DataError, match=r"must have 3 columns"):
        decode_cells(table.encoding, np.zeros((2, 2)))


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    values=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 6)),
    ),
    scaling=st.sampled_from(OF_TABLES),
)
def test_decode_undoes_encode(values: np.ndarray, scaling: str) -> None:
    table = encode(from_arrays(values), options(scaling=scaling))
    assert np.all(np.isfinite(table.values))
    for position, column in enumerate(decode(table)):
        assert np.allclose(column.values, values[:, position], rtol=1e-9, atol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    cells=st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "ü", "x=y", "0 "])), min_size=1, max_size=12),
    mode=st.sampled_from(["ordinal", "one-hot"]),
)
def test_categories_come_back_whole(cells: list[str | None], mode: str) -> None:
    raw = from_pandas(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))
    present = [cell for cell in cells if cell is not None]
    if not present:
        with pytest.raises(DataError):
            encode(raw, options(missing="drop", categorical=mode))
        return
    table = encode(raw, options(missing="drop", categorical=mode, categorical_columns=("c",)))
    assert decode(table)[0].values.tolist() == present
    assert table.ids.tolist() == [row for row, cell in enumerate(cells) if cell is not None]


def test_bank_marketing_without_unknowns_has_the_rows_that_papers_use() -> None:
    require_data("bank_marketing")
    table = load_table(DataSpec(source="bank_marketing", missing_marks=("unknown",), missing="drop"))
    assert table.values.shape == (30488, 20)
    assert table.labels is not None
    assert int(table.labels.sum()) == 3859


def test_prognostic_breast_cancer_has_four_gaps() -> None:
    require_data("breast_cancer_wpbc")
    spec = DataSpec(source="breast_cancer_wpbc", drop=("ID_number",), missing="mean")
    filled = [e for e in load_table(spec).encoding if e.n_missing]
    assert [(e.column, e.n_missing) for e in filled] == [("lymph_node_status", 4)]
