"""Payloads: their checks, and digests that are equal for equal content alone."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum, StrEnum

import numpy as np
import pytest
from hypothesis import given, settings

from fedleak.core.errors import FileFormatError
from fedleak.core.knowledge import KnownCells
from fedleak.core.payload import (
    Array,
    CipherArray,
    IntegerArray,
    ModelSpec,
    Payload,
    Scalar,
    Table,
    Texts,
    Tree,
    digest,
    plain_scalar,
    settled_payload,
)
from fedleak.core.whole.truth import SecretValues
from fedleak.storage.view_and_guess import payload_from_bytes, payload_to_bytes
from stored_values import payloads, same

CIPHERS = CipherArray("key", "paillier", np.arange(8, dtype=np.uint8).reshape(4, 2), (2, 2), 16)


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
        (Texts(("a", "b")), Texts(("a, b",))),
        (Texts(("a",)), Scalar("a")),
        (Texts(()), Texts(("",))),
        (CIPHERS, replace(CIPHERS, exponents=np.zeros(4, dtype=np.int64))),
        (CIPHERS, replace(CIPHERS, signs=np.zeros(4, dtype=np.int8))),
        (replace(CIPHERS, signs=np.array([1, 1, -1, 0], np.int8)), replace(CIPHERS, signs=np.ones(4, np.int8))),
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


def test_ciphertexts_without_exponents_have_the_digest_and_the_bytes_that_they_always_had() -> None:
    assert digest(CIPHERS) == "d2dc1277d31d4204eb0836e74742f935ea979398b1e337ae29dec9964330e271"
    head = (
        b'{"data":{"dtype":"|u1","offset":0,"segment":0,"shape":[4,2]},"fraction_bits":16,"key_id":"key",'
        b'"scheme":"paillier","shape":[2,2],"type":"cipher-array"}'
    )
    stored = b"fedleak payload 1\n" + head + b"\n" + bytes(range(8))
    assert payload_to_bytes(CIPHERS) == stored
    assert same(payload_from_bytes(stored), CIPHERS)


def test_exponents_and_signs_are_one_for_each_ciphertext() -> None:
    given = replace(CIPHERS, exponents=np.arange(4), signs=np.array([1, -1, 0, 1], np.int8))
    assert same(payload_from_bytes(payload_to_bytes(given)), given)
    kept = settled_payload(given)
    assert isinstance(kept, CipherArray)
    assert same(kept, given)
    assert kept.exponents is not None
    assert not kept.exponents.flags.writeable
    for wrong in ({"exponents": np.arange(3)}, {"exponents": np.ones(4)}, {"signs": np.ones(4, dtype=np.int64)}):
        with pytest.raises(ValueError, match="one for each ciphertext"):
            replace(CIPHERS, **wrong)
    with pytest.raises(ValueError, match="signs must be -1, 0 or 1"):
        replace(CIPHERS, signs=np.array([1, -128, 0, 1], np.int8))


def test_texts_are_texts() -> None:
    assert Texts(tuple(np.array(["age", "sex"]))).values == ("age", "sex")
    assert type(Texts((Colour.RED,)).values[0]) is str
    for wrong in ((1,), (None,), (b"x",)):
        with pytest.raises(TypeError, match="must be texts"):
            Texts(wrong)  # type: ignore[arg-type]


def test_a_text_that_is_too_long_is_refused_by_the_file_format() -> None:
    with pytest.raises(FileFormatError, match=r"values\.item1: text must have at most 1024 characters; got 1025"):
        payload_from_bytes(payload_to_bytes(Texts(("a", "x" * 1025))))
