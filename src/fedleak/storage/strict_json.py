"""JSON without its loose ends: no duplicate keys, no NaN, no numbers that overflow or take for ever to parse.

What is wrong in a stored value raises ``Malformed``; where the value stands is added on the way out.
"""

from __future__ import annotations

import json
from collections import Counter
from math import isfinite
from reprlib import Repr
from typing import Self

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class Malformed(Exception):  # noqa: N818  (internal: every caller turns it into a FileFormatError)
    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self._path: list[str] = []

    def within(self, name: str) -> Self:
        self._path.append(name if name.isidentifier() else shown(name))
        return self

    def __str__(self) -> str:
        place = ".".join(reversed(self._path))
        return f"{place}: {self.problem}" if place else self.problem


def shown(value: object) -> str:
    """A value for an error message: short, one line, without control characters."""
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return _SHORT.repr(value)


_INTEGER_CHARS = 20  # sign and digits of a 64-bit integer
_FLOAT_CHARS = 64  # well over the 24 that the shortest exact form of a double takes


def parse(text: bytes) -> object:
    """Raises Malformed, or RecursionError where the nesting is too deep."""
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise Malformed(f"text must be UTF-8; got byte {text[error.start]:#04x} at position {error.start}") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"text must be JSON; {error.msg} at position {error.pos}") from error


def compact(value: object) -> bytes:
    """One line. Python writes the shortest form of a float that reads back exactly."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def compact_sorted(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), sort_keys=True).encode("ascii")


def readable(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, indent=1).encode("ascii") + b"\n"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        (most_common, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise Malformed(f"keys must differ; got {shown(most_common)} more than once")
    return found


def _integer(text: str) -> int:
    value = int(text) if len(text) <= _INTEGER_CHARS else None
    if value is None or not -(1 << 63) <= value < (1 << 63):
        raise Malformed(f"integers must fit in 64 bits; got {shown(text)}")
    return value


def _float(text: str) -> float:
    value = float(text) if len(text) <= _FLOAT_CHARS else None
    if value is None or not isfinite(value):
        raise Malformed(f"numbers must fit in a double; got {shown(text)}")
    return value


def _constant(text: str) -> float:
    raise Malformed(f'NaN and infinities must be written as {{"float": "nan"}}, "inf" or "-inf"; got {text}')
