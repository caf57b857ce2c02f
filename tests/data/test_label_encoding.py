from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedleak.core.errors import DataError
from fedleak.data import DataSpec, EncodedTable, EncodingOptions, encode, from_pandas, load_table


def labelled(cells: list[object], **options: object) -> EncodedTable:
    frame = pd.DataFrame({"x": np.arange(len(cells)), "y": cells})
    return encode(from_pandas(frame, "y"), EncodingOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "classes", "positive"),
    [
        (["no", "yes", "no"], ("no", "yes"), "yes"),
        ([1, 2, 1], ("1", "2"), "2"),
        ([-1.0, 1.0, -1.0], ("-1", "1"), "1"),
        ([False, True, False], ("false", "true"), "true"),
        ([9, 10, 9], ("9", "10"), "10"),  # by size, not by spelling
    ],
)
def test_two_classes_become_0_and_1(cells: list[object], classes: tuple[str, ...], positive: str) -> None:
    table = labelled(cells)
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 0]
    assert table.label_encoding is not None
    assert table.label_encoding.classes == classes
    assert table.label_encoding.positive == positive
    assert table.label_encoding.decode(table.labels) == (classes[0], classes[1], classes[0])


def test_the_positive_class_can_be_chosen() -> None:
    assert labelled(["N", "R", "N"], positive="N").labels.tolist() == [1, 0, 1]  # type: ignore[union-attr]
    assert labelled([1, 2, 1], positive=1).labels.tolist() == [1, 0, 1]  # type: ignore[union-attr]
    assert labelled([True, False], positive=False).labels.tolist() == [0, 1]  # type: ignore[union-attr]


def test_one_class_against_the_rest() -> None:
    table = labelled(["a", "b", "c", "b"], positive="b")
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 0, 1]
    assert table.label_encoding is not None
    assert table.label_encoding.decode(table.labels) == ("not b", "b", "not b", "b")


def test_two_of_several_classes() -> None:
    table = labelled([0, 1, 2, 1, 0], classes=(0, 1))
    assert table.ids.tolist() == [0, 1, 3, 4]
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 1, 0]


def test_three_classes_in_a_binary_task() -> None:
    with pytest.raises(
        DataError,
        match=r'two classes for a binary task; got 3: "a", "b", "c". Set positive = "c" .*task = "multiclass"',
    ):
        labelled(["a", "b", "c"])


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        (["a", "a"], {}, "at least two classes; got only 'a'"),
        (
            ["yes", "no"],
            {"positive": "yess"},
            'positive must be among the classes .*yess.*Did you mean "yes"',
        ),
        (["yes", "no"], {"classes": ("no", "maybe")}, "classes must be among the classes .* got 'maybe'"),
        (["yes", "no"], {"task": "regression"}, "must hold numbers for a regression; got texts such as 'yes'"),
        ([1.0, np.inf], {"task": "regression"}, "must hold finite numbers; got 1 infinite"),
        ([0.5, 1.5, 2.5], {"task": "multiclass"}, 'not whole numbers. Set task = "regression"'),
        (list(range(1001)), {"task": "multiclass"}, "at most 1000 classes; got 1001"),
        ([0.0, None, 1.0], {}, 'no missing cells; got 1 of 3. A label cannot be filled in: set missing = "drop"'),
        ([0.0, None, 1.0], {"missing": "mean"}, "A label cannot be filled in"),
    ],
)
def test_wrong_targets(cells: list[object], options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        labelled(cells, **options)


def test_rows_without_a_label_can_be_dropped() -> None:
    assert labelled([0.0, None, 1.0], missing="drop").ids.tolist() == [0, 2]


def test_multiclass_and_regression() -> None:
    several = labelled(["b", "a", "c"], task="multiclass")
    assert several.labels is not None
    assert several.labels.tolist() == [1, 0, 2]
    assert several.label_encoding is not None
    assert several.label_encoding.decode(several.labels) == ("b", "a", "c")
    real = labelled([0.5, 2, 1], task="regression")
    assert real.labels is not None
    assert real.labels.dtype == np.float64
    assert real.label_encoding is not None
    assert real.label_encoding.decode(real.labels) == (0.5, 2.0, 1.0)


def test_without_a_task_the_target_is_left_out() -> None:
    table = load_table(DataSpec(source="sklearn:iris", task="none"))
    assert table.labels is None
    assert table.label_encoding is None
    assert table.values.shape == (150, 4)


def test_a_task_without_a_target() -> None:
    raw = from_pandas(pd.DataFrame({"a": [1, 2], "b": [0, 1]}))
    with pytest.raises(DataError, match=r'target must name the column of labels of frame .*"a", "b"'):
        encode(raw)


def test_the_whole_way_from_a_spec() -> None:
    table = load_table(DataSpec(source="sklearn:breast_cancer", max_rows=100))
    assert table.values.shape == (100, 30)
    assert table.labels is not None
    assert set(table.labels.tolist()) == {0, 1}


def test_labels_of_a_regression_can_be_scaled_and_read_back() -> None:
    table = labelled([100.0, 300.0, 200.0, 400.0], task="regression", target_scaling="standard")
    assert table.labels is not None
    assert table.label_encoding is not None
    np.testing.assert_allclose([table.labels.mean(), table.labels.std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(table.label_encoding.decode(table.labels), [100.0, 300.0, 200.0, 400.0])
    assert labelled([5.0, 5.0], task="regression", target_scaling="standard").labels.tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    with pytest.raises(DataError, match="target_scaling must be one of"):
        labelled([1.0, 2.0], task="regression", target_scaling="minmax")
