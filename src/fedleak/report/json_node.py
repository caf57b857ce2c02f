"""Reading JSON from strangers: every value knows its place, and a wrong one gives one clear error.

``parse`` bounds size and depth and refuses what JSON does not have (NaN) or leaves open (a key twice);
a ``Node`` is then asked for the type that is expected at its place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import NoReturn, TypeVar

from fedleak.core.errors import FileFormatError, nearest_or_list

MAX_CHARACTERS = 16 * 2**20
MAX_DEPTH = 40
MAX_SHOWN = 60  # characters of a wrong value that an error repeats

EnumT = TypeVar("EnumT", bound=StrEnum)


@dataclass(frozen=True, eq=False)
class Node:
    """A parsed JSON value and where it stands, such as ``findings[2].ci``."""

    value: object
    place: str

    def fail(self, expected: str) -> NoReturn:
        raise FileFormatError(f"{self.place} must be {expected}; got {_shown(self.value)}")

    def fields(self, names: Iterable[str], optional: Iterable[str] = ()) -> Mapping[str, Node]:
        """The members of an object that has exactly these names, or some of the optional ones besides."""
        members, needed = self.members(), tuple(names)
        known = (*needed, *optional)
        for name in members:
            if name not in known:
                raise FileFormatError(
                    f"{self.place} must have known keys only; got {_shown(name)}{nearest_or_list(name, known)}"
                )
        missing = [name for name in needed if name not in members]
        if missing:
            raise FileFormatError(f"{self.place} must have the key {missing[0]!r}; got an object without it")
        return members

    def members(self) -> Mapping[str, Node]:
        if not isinstance(self.value, dict):
            self.fail("an object")
        prefix = "" if self.place == ROOT else f"{self.place}."
        return {name: Node(value, f"{prefix}{_shown_key(name)}") for name, value in self.value.items()}

    def items(self) -> tuple[Node, ...]:
        if not isinstance(self.value, list):
            self.fail("a list")
        return tuple(Node(value, f"{self.place}[{index}]") for index, value in enumerate(self.value))

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail("a string")
        return self.value

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.fail("a number")
        try:
            return float(self.value)
        except OverflowError:
            self.fail("a number within the range of a double")

    def number_from(self, low: float, high: float = float("inf")) -> float:
        value = self.number()
        if not low <= value <= high:
            self.fail(f"a number from {low:g} to {high:g}" if isfinite(high) else f"a number of at least {low:g}")
        return value

    def whole(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            self.fail("a whole number of at least 0")
        return self.value

    def scalar(self) -> bool | int | float | str | None:
        if not (self.value is None or isinstance(self.value, bool | int | float | str)):
            self.fail("a string, a number, true, false or null")
        return self.value

    def choice(self, kind: type[EnumT]) -> EnumT:
        text = self.text()
        known = {member.value: member for member in kind}
        if text not in known:
            raise FileFormatError(f"{self.place} must be one of {', '.join(known)}; got {_shown(text)}")
        return known[text]

    @property
    def is_null(self) -> bool:
        return self.value is None


ROOT = "the report"


def parse(text: str) -> Node:
    """The text as a tree of nodes; whatever is wrong with it raises FileFormatError."""
    if len(text) > MAX_CHARACTERS:
        raise FileFormatError(f"a report must be at most {MAX_CHARACTERS:,} characters long; got {len(text):,}")
    try:
        value: object = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twice)
    except RecursionError:
        raise FileFormatError(f"a report must be nested at most {MAX_DEPTH} deep; got more") from None
    except ValueError as error:  # broken syntax, or an integer with thousands of digits
        raise FileFormatError(f"a report must be JSON; got: {error}") from None
    _check(value, ROOT, 0)
    return Node(value, ROOT)


def _check(value: object, place: str, depth: int) -> None:
    """What the JSON parser lets through: nesting, overflowing numbers, text that is not Unicode."""
    if depth > MAX_DEPTH:
        raise FileFormatError(f"a report must be nested at most {MAX_DEPTH} deep; got more")
    match value:
        case dict():
            for key, member in value.items():
                _check(key, place, depth)
                _check(member, key if place is ROOT else f"{place}.{_shown_key(key)}", depth + 1)
        case list():
            for index, member in enumerate(value):
                if isinstance(member, dict | list | str | float):
                    _check(member, f"{place}[{index}]", depth + 1)
        case float() if not isfinite(value):
            raise FileFormatError(f"{place} must be a finite number; got one that overflows")
        case str() if any("\ud800" <= character <= "\udfff" for character in value):
            raise FileFormatError(f"{place} must be Unicode text; got half of a surrogate pair")


def _no_constant(name: str) -> NoReturn:
    raise FileFormatError(f"a report must hold finite numbers only; got {name}")


def _no_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise FileFormatError(f"an object of a report must have each key once; got {_shown(twice)} twice")
    return members


def _shown(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return f"a list of {len(value)}"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return repr(_cut(value))
        case int():
            return _cut(f"{value:,}") if value.bit_length() < 10_000 else "an integer of thousands of digits"
    return _cut(repr(value))


def _shown_key(name: str) -> str:
    return name if name.isidentifier() and len(name) <= MAX_SHOWN else repr(_cut(name))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
