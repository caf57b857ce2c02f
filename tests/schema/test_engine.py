"""The engine on types of its own: what is read, what is refused and with which words, and that nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import inf, nan
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.arrays import FloatArray
from fedleak.core.described import meaning
from fedleak.core.payload import ScalarValue
from fedleak.schema import strict_json
from fedleak.schema.codec import Bounds, Reading
from fedleak.schema.codec_containers import decode, encode
from fedleak.schema.describe import Row, rows, section
from fedleak.schema.plain import JSON, TOML
from fedleak.schema.strict_json import Malformed
from fedleak.storage.stored_form import STORED


class Colour(StrEnum):
    DEEP_RED = "as deep a red as there is"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 0
    VERY_LARGE = 9


@dataclass(frozen=True)
class Leaf:
    name: str
    share: float = field(default=0.5, metadata=meaning("how much of it", unit="0 to 1", least=0, most=1))


@dataclass(frozen=True, kw_only=True)
class Branch:
    leaves: tuple[Leaf, ...] = field(metadata=meaning("what hangs on it", least=1))
    colour: Colour = Colour.BLUE
    size: Size = Size.SMALL
    mood: Literal["calm", "wild"] = "calm"
    kind: str = field(default="oak", metadata=meaning("which tree", choices=("oak", "elm")))
    ends: tuple[float, float] | None = None
    either: str | int | None = None
    notes: Mapping[str, ScalarValue] = field(default_factory=dict)
    picture: FloatArray | None = None
    rest: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind == "elm" and len(self.leaves) > 2:
            raise ValueError(f"an elm must have at most 2 leaves; got {len(self.leaves)}")


LEAF = {"name": "a", "share": 1}


def read(value: object, **bounds: int) -> Branch:
    return decode(Branch, value, JSON, Reading(Bounds(**bounds)))


def test_defaults_fill_what_is_missing_and_whole_numbers_pass_as_numbers() -> None:
    branch = read({"leaves": [LEAF]})
    assert branch.leaves == (Leaf("a", 1.0),)
    assert isinstance(branch.leaves[0].share, float)
    assert (branch.colour, branch.mood, branch.ends) == (Colour.BLUE, "calm", None)


def test_a_branch_survives() -> None:
    picture = np.array([[1.0, nan], [0.25, inf]])
    whole = Branch(
        leaves=(Leaf("a", 0.25), Leaf("b")),
        colour=Colour.DEEP_RED,
        size=Size.VERY_LARGE,
        mood="wild",
        ends=(1.5, 2.5),
        either=7,
        notes={"x": None, "y": True, "z": "text"},
        picture=picture,
        rest={"deep": [{"er": [1, 2.5, None]}]},
    )
    written: Any = encode(Branch, whole, JSON)
    assert (written["colour"], written["size"]) == ("as deep a red as there is", "very-large")
    assert written["picture"] == [[1.0, None], [0.25, None]]
    again = read(strict_json.parse(strict_json.compact(written)))
    assert encode(Branch, again, JSON) == written
    assert again.picture is not None
    np.testing.assert_array_equal(again.picture, [[1.0, nan], [0.25, nan]])


REFUSED = {
    "no object": ([], "value must be an object; got a list of 0"),
    "a missing key": ({}, "the key 'leaves' is missing; what hangs on it"),
    "an unknown key": ({"leaves": [LEAF], "color": 1}, "unknown key 'color'. Did you mean \"colour\"?"),
    "an unknown key inside": (
        {"leaves": [LEAF, {"name": "b", "shape": 1}]},
        "leaves[1]: unknown key 'shape'. Did you mean \"share\"?",
    ),
    "an unknown key, unlike any": ({"leaves": [{"name": "b", "zzz": 1}]}, 'Known: "name", "share"'),
    "too few": ({"leaves": []}, "leaves must be a list of at least 1; got a list of 0"),
    "no list": ({"leaves": LEAF}, "leaves must be a list of objects; got an object with 2 keys"),
    "a wrong type": ({"leaves": [{"name": 1}]}, "leaves[0].name must be a text; got 1"),
    "a boolean for a number": ({"leaves": [{**LEAF, "share": True}]}, "leaves[0].share must be a number; got true"),
    "out of range": ({"leaves": [{**LEAF, "share": 1.5}]}, "leaves[0].share must be from 0 to 1; got 1.5"),
    "an unknown member": ({"leaves": [LEAF], "colour": "bleu"}, "; got 'bleu'. Did you mean \"blue\"?"),
    "an unknown word": ({"leaves": [LEAF], "mood": "wilt"}, "mood must be one of calm, wild; got 'wilt'. Did you mean"),
    "no choice": ({"leaves": [LEAF], "kind": "oka"}, "kind must be one of oak, elm; got 'oka'. Did you mean \"oak\"?"),
    "one end": ({"leaves": [LEAF], "ends": [1]}, "ends must be a list of 2 numbers; got a list of 1"),
    "neither": ({"leaves": [LEAF], "either": 1.5}, "either must be a text or whole number; got 1.5"),
    "a note with notes": ({"leaves": [LEAF], "notes": {"x y": []}}, "notes.'x y' must be a text, a number, true"),
    "a ragged picture": ({"leaves": [LEAF], "picture": [[1], [1, 2]]}, "picture must be numbers in rows of one length"),
    "a picture of words": ({"leaves": [LEAF], "picture": [[1], ["x"]]}, "picture[1][0] must be a number; got 'x'"),
    "the type's own check": ({"leaves": [LEAF] * 3, "kind": "elm"}, "an elm must have at most 2 leaves; got 3"),
    "half a surrogate pair": ({"leaves": [{"name": "\ud800"}]}, "leaves[0].name must be Unicode text"),
    "a long text": ({"leaves": [{"name": "x" * 2000}]}, "leaves[0].name must have at most 1024 characters; got 2000"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_with_its_place(name: str) -> None:
    value, message = REFUSED[name]
    with pytest.raises(Malformed) as caught:
        read(value)
    assert message in str(caught.value)


def test_depth_is_bounded_where_types_do_not_bound_it() -> None:
    value: object = 1
    for _ in range(10):
        value = [value]
    assert read({"leaves": [LEAF], "rest": {"x": value}}, n_levels=11).rest == {"x": value}
    with pytest.raises(Malformed, match=r"rest\.x(\[0\])+ must be nested at most 10 deep; got more"):
        read({"leaves": [LEAF], "rest": {"x": value}}, n_levels=10)


def test_an_error_calls_the_outermost_value_by_its_name() -> None:
    with pytest.raises(Malformed) as caught:
        read([])
    assert caught.value.told("the branch") == "the branch must be an object; got a list of 0"


def test_dialects_differ_in_enums_and_in_floats_that_are_not_finite() -> None:
    assert [encode(Colour, Colour.DEEP_RED, dialect) for dialect in (JSON, STORED)] == [
        "as deep a red as there is",
        "deep-red",
    ]
    assert [encode(float, nan, dialect) for dialect in (JSON, STORED)] == [None, {"float": "nan"}]
    assert decode(float, {"float": "-inf"}, STORED, Reading(Bounds())) == -inf
    with pytest.raises(Malformed, match="must be a table; got 1"):
        decode(Leaf, 1, TOML, Reading(Bounds()))


def test_a_format_without_a_place_for_arrays_refuses_them() -> None:
    annotation: Any = FloatArray
    with pytest.raises(Malformed, match="must hold no array beside the text"):
        encode(annotation, np.ones(2), STORED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 1}', "keys must differ; got 'a' more than once"),
        ('{"a": NaN}', "numbers must be finite; got NaN"),
        ('{"a": 1e999}', "numbers must fit in a double"),
        ('{"a": 9223372036854775808}', "integers must fit in 64 bits"),
        ("[" * 100_000, "value must not be nested this deep"),
        ("[1", "text must be JSON"),
        (b"\xff", "text must be UTF-8; got byte 0xff"),
    ],
)
def test_text_that_json_leaves_open_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        strict_json.parse(text)


@given(number=st.integers(-(2**200), 2**200), bits=st.sampled_from([64, 201, 1024]))
@settings(derandomize=True, deadline=None)
def test_integers_are_read_up_to_their_bits(number: int, bits: int) -> None:
    if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        assert strict_json.parse(str(number), integer_bits=bits) == number
    else:
        with pytest.raises(Malformed, match=f"integers must fit in {bits} bits"):
            strict_json.parse(str(number), integer_bits=bits)


def test_a_page_has_a_row_a_key() -> None:
    found = {row.key: row for row in rows(Branch, JSON)}
    assert list(found) == list(Branch.__dataclass_fields__)
    assert found["leaves"] == Row("leaves", "list of objects, at least 1", "", "required", "what hangs on it.")
    assert found["kind"] == Row("kind", "text", "", '`"oak"`', "which tree. One of: oak, elm.")
    assert (found["either"].type, found["either"].default) == ("text or whole number or null", "none")
    assert found["notes"].default == "see its table"
    assert {row.key: row.type for row in rows(Branch, TOML)}["leaves"] == "list of tables, at least 1"
    lines = section("A leaf", Leaf, TOML).splitlines()
    assert lines[0] == "## A leaf"
    assert lines[-1] == "| `share` | number, from 0 to 1 (0 to 1) | `0.5` | how much of it. |"


def test_the_engine_is_light() -> None:
    """An attack's process and the command line load it before anything else."""
    heavy = {"pandas", "scipy", "sklearn", "rich", "jinja2", "click"}
    code = f"import sys, fedleak.schema.plain, fedleak.schema.describe; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
