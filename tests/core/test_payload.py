"""Payloads: their checks, and digests that are equal for equal content alone."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import numpy as np
import pytest
from hypothesis import given, settings

from fedleak.core.knowledge import KnownCells
from fedleak.core.payload import (
    Array,
    CipherArray,
    IntegerArray,
    ModelSpec,
    Payload,
    Scalar,
    Table,
    Tree,
    digest,
    plain_scalar,
)
from fedleak.core.whole.truth import SecretValues
from stored_values import payloads, same


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@settings(derandomize=True, deadline=None, max_examples=200)
@given(payloads, payloads)
def test_digests_are_equal_for_equal_payloads_alone(one: Payload, other: Payload) -> None:
    assert (digest(one) == digest(other)) == same(one, other) or _differ_in_order(one, other)


def _differ_in_order(one: Payload, other: Payload) -> bool:
    """The order of a tree's names is no content."""
    return isinstance(one, Tree | ModelSpec) and type(one) is type(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            Tree({"a": Tree({"b": Scalar(1)}), "c": Scalar(2)}),
            Tree({"a": Tree({"b": Scalar(1), "c": Scalar(2)})}),
        ),
        (Tree({"a": Scalar(1)}), Tree({"a\0": Scalar(1)})),
        (Scalar(1), Scalar(1.0)),
        (Scalar(1), Scalar(True)),
        (Scalar("1"), Scalar(1)),
        (Array(np.zeros((2, 3))), Array(np.zeros((3, 2)))),
        (Array(np.zeros(2, dtype="<f4")), Array(np.zeros(2, dtype="<i4"))),
        (IntegerArray.from_ints([1], 2), IntegerArray.from_ints([1], 3)),
    ],
)
def test_different_payloads_have_different_digests(one: Payload, other: Payload) -> None:
    assert digest(one) != digest(other)


def test_one_value_has_one_digest() -> None:
    assert digest(Scalar(np.float64(0.5))) == digest(Scalar(0.5))
    assert digest(Scalar(Colour.RED)) == digest(Scalar("red"))
    assert digest(Tree({"a": Scalar(1), "b": Scalar(2)})) == digest(Tree({"b": Scalar(2), "a": Scalar(1)}))
    model = ModelSpec("linear", {"rate": np.float64(0.5)}, {})
    assert digest(model) == digest(ModelSpec("linear", {"rate": 0.5}, {}))
    data = np.zeros((2, 4), dtype=np.uint8)
    assert digest(CipherArray("k", "s", data, (np.int64(2),), 0)) == digest(CipherArray("k", "s", data, (2,), 0))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (True, True),
        (None, None),
    ],
)
def test_plain_scalars(value: object, expected: object) -> None:
    assert plain_scalar(value) == expected
    assert type(plain_scalar(value)) is type(expected)


@pytest.mark.parametrize("value", [[1], b"x", 1j, np.longdouble(1), {}])
def test_other_scalars_are_refused(value: object) -> None:
    with pytest.raises(TypeError, match="scalar must be"):
        Scalar(value)  # type: ignore[arg-type]


def test_a_numpy_scalar_is_no_array() -> None:
    with pytest.raises(TypeError, match="must be a numpy array; got float64"):
        Array(np.ones(3).sum())


def test_shapes_are_checked() -> None:
    rows = np.zeros((2, 4), dtype=np.uint8)
    for shape in ((-1, -2), (1,) * 33, (3,)):
        with pytest.raises(ValueError, match="IntegerArray"):
            IntegerArray(rows, shape)
    with pytest.raises(ValueError, match="one dimension"):
        Table((), np.zeros((0, 2)), np.zeros((0, 0)))
    with pytest.raises(ValueError, match="KnownCells"):
        KnownCells("passive", np.arange(2), np.arange(2), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="ranges"):
        SecretValues(np.arange(1), ("c",), np.zeros((1, 1)), np.zeros((2, 1)))
