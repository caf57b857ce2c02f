"""What every codec is: two functions, to and from JSON values, for one Python type; and those of texts and numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, StrEnum
from math import isfinite
from operator import index
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import nearest
from fedleak.core.payload import ScalarValue, plain_scalar
from fedleak.schema.strict_json import WORD_BITS, Malformed, shown

Put = Callable[[AnyArray], object]  # stores an array's numbers and says where, in terms of the format's own
Resolve = Callable[[Any], AnyArray]  # the way back


@dataclass(frozen=True)
class Bounds:
    """What a value from a stranger may have at most."""

    n_levels: int = 64  # of values within values
    name_chars: int = 1024  # a name: of a party, a step, a column, a key
    text_chars: int = 1 << 20  # a text that is itself a value
    integer_bits: int = 1 << 17  # an integer that is itself a value


def nowhere(array: object) -> Any:
    """The ``put`` and the ``resolve`` of a format that has no place for arrays beside its text."""
    raise Malformed(f"must hold no array beside the text; got {type(array).__name__}")


@dataclass
class Reading:
    """One value that is being read: the bounds, the arrays, how deep in it we are."""

    limits: Bounds
    resolve: Resolve = nowhere
    level: int = 0

    def deeper(self, convert: Callable[[object, Reading], object], value: object) -> object:
        """What ``convert`` makes of a value within a value."""
        if self.level >= self.limits.n_levels:
            raise Malformed(f"must be nested at most {self.limits.n_levels} deep; got more")
        self.level += 1
        try:
            return convert(value, self)
        finally:
            self.level -= 1


class Codec(ABC):
    words = "value"  # the type, in an error and on a reference page

    @abstractmethod
    def encode(self, value: object, put: Put) -> object:
        """A JSON value; raises Malformed if ``value`` is not of the type."""

    @abstractmethod
    def decode(self, value: object, reading: Reading) -> object:
        """The way back, from a JSON value that a stranger may have written."""


MAX_MEANT_CHARS = 100  # of a wrong name that is compared with the known ones
_SPECIAL_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_WORD = range(-(1 << WORD_BITS - 1), 1 << WORD_BITS - 1)


class TextCodec(Codec):
    words = "text"

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, str):
            raise Malformed(f"must be a text; got {type(value).__name__}")
        return plain_scalar(value)

    def decode(self, value: object, reading: Reading) -> object:
        return checked_text(value, reading.limits.name_chars)


class BooleanCodec(Codec):
    words = "true or false"

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, bool | np.bool_):
            raise Malformed(f"must be a boolean; got {type(value).__name__}")
        return bool(value)

    def decode(self, value: object, reading: Reading) -> object:
        if not isinstance(value, bool):
            raise Malformed(f"must be true or false; got {shown(value)}")
        return value


class IntegerCodec(Codec):
    words = "whole number"

    def encode(self, value: object, put: Put) -> object:
        try:
            number = index(value)  # type: ignore[arg-type]
        except TypeError:
            raise Malformed(f"must be a whole number; got {type(value).__name__}") from None
        if number not in _WORD:
            raise Malformed("must be a whole number of 64 bits; got a larger one")
        return number

    def decode(self, value: object, reading: Reading) -> object:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Malformed(f"must be a whole number; got {shown(value)}")
        if value not in _WORD:
            raise Malformed("must be a whole number of 64 bits; got a larger one")
        return value


class FloatCodec(Codec):
    """A figure that is not finite is written as null."""

    words = "number"

    def encode(self, value: object, put: Put) -> object:
        number = builtin(value)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise Malformed(f"must be a number; got {type(value).__name__}")
        return self._written(_double(number))

    def _written(self, number: float) -> object:
        return number if isfinite(number) else None

    def decode(self, value: object, reading: Reading) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Malformed(f"must be a number; got {shown(value)}")
        return _double(value)


class ScalarCodec(Codec):
    """Any ``ScalarValue``; what is not finite is written as null."""

    words = "scalar"

    def encode(self, value: object, put: Put) -> object:
        plain = builtin(value)
        return None if isinstance(plain, float) and not isfinite(plain) else plain

    def decode(self, value: object, reading: Reading) -> ScalarValue:
        if isinstance(value, str):
            return checked_text(value, reading.limits.text_chars)
        if value is None or isinstance(value, bool | int | float):
            return value
        raise Malformed(f"must be a text, a number, true, false or null; got {shown(value)}")


class ExactFloatCodec(FloatCodec):
    """JSON has no NaN and no infinities: they are objects with one key, ``{"float": "nan"}``."""

    def _written(self, number: float) -> object:
        return _float_to_json(number)

    def decode(self, value: object, reading: Reading) -> float:
        special = _only(value, "float")
        return super().decode(value, reading) if special is None else _special_float(special)


class ExactScalarCodec(ScalarCodec):
    """The same of floats. An integer over 64 bits is ``{"int": "-1f..."}``, in hexadecimal."""

    def encode(self, value: object, put: Put) -> object:
        plain = builtin(value)
        if isinstance(plain, float):
            return _float_to_json(plain)
        if isinstance(plain, int) and plain not in _WORD:
            return {"int": f"{plain:x}"}
        return plain

    def decode(self, value: object, reading: Reading) -> ScalarValue:
        special, large = _only(value, "float"), _only(value, "int")
        if special is not None:
            return _special_float(special)
        if large is not None:
            return _large_integer(large, reading.limits.integer_bits)
        return super().decode(value, reading)


class EnumCodec(Codec):
    """Members go by their Python names, in kebab-case: their values are prose that may be reworded.

    With ``by_value`` those whose values are texts go by these.
    """

    def __init__(self, kind: type[Enum], *, by_value: bool = False) -> None:
        self._kind = kind
        by_value = by_value and issubclass(kind, StrEnum)
        self._members = {member.value if by_value else _kebab(member): member for member in kind}
        self.words = " or ".join(self._members)
        self._texts = {member: text for text, member in self._members.items()}

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, self._kind):
            raise Malformed(f"must be a member of {self._kind.__name__}; got {shown(value)}")
        return self._texts[value]

    def decode(self, value: object, reading: Reading) -> object:
        if not isinstance(value, str) or value not in self._members:
            raise Malformed(
                f"must be one of {', '.join(self._members)}; got {shown(value)}{near(value, self._members)}"
            )
        return self._members[value]


def near(value: object, known: Collection[str]) -> str:
    """Which of the known texts may have been meant; empty for what is no text, or a very long one."""
    return nearest(value, known) if isinstance(value, str) and len(value) <= MAX_MEANT_CHARS else ""


def checked_text(value: object, limit_chars: int) -> str:
    if not isinstance(value, str):
        raise Malformed(f"must be a text; got {shown(value)}")
    if len(value) > limit_chars:
        raise Malformed(f"must have at most {limit_chars} characters; got {len(value)}")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise Malformed("must be Unicode text; got half of a surrogate pair")
    return value


def _kebab(member: Enum) -> str:
    return member.name.lower().replace("_", "-")


def builtin(value: object) -> ScalarValue:
    try:
        return plain_scalar(value)
    except TypeError as error:
        raise Malformed(str(error)) from None


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        raise Malformed("must be a number that fits in a double; got a larger integer") from None


def _only(value: object, key: str) -> str | None:
    """The text of ``{key: text}``; None for anything else."""
    if isinstance(value, dict) and value.keys() == {key} and isinstance(value[key], str):
        return str(value[key])
    return None


def _float_to_json(value: float) -> object:
    return value if isfinite(value) else {"float": str(value)}


def _special_float(text: str) -> float:
    if text not in _SPECIAL_FLOATS:
        raise Malformed(f"float must be a JSON number, nan, inf or -inf; got {shown(text)}")
    return _SPECIAL_FLOATS[text]


def _large_integer(text: str, limit_bits: int) -> int:
    digits = text.removeprefix("-")
    if len(digits) > limit_bits // 4:
        raise Malformed(f"integer must have at most {limit_bits} bits; got {len(digits)} hexadecimal digits")
    if not digits or set(digits) - set("0123456789abcdef"):
        raise Malformed(f"large integer must be in hexadecimal; got {shown(text)}")
    return int(text, 16)
