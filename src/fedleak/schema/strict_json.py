"""JSON without its loose ends: no duplicate keys, no NaN, no numbers that overflow or take for ever to parse.

What is wrong in a value raises ``Malformed``; where the value stands is added on the way out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import isfinite
from reprlib import Repr
from typing import Self

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class Malformed(Exception):  # noqa: N818  (internal: every caller turns it into an error of its own)
    """What is wrong with one value, and where it stands, such as ``findings[3].ci``.

    A problem that begins with "must" is about the value itself, and its place is the subject of the sentence.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self._path: list[str] = []

    def within(self, name: str | int) -> Self:
        """One step outwards: the key, or the position in a list, under which the value stands."""
        if isinstance(name, int):
            self._path.append(f"[{name}]")
        else:
            self._path.append("." + (name if name.isidentifier() and len(name) <= _SHORT.maxstring else shown(name)))
        return self

    def told(self, root: str = "value") -> str:
        """One sentence; ``root`` is what the outermost value is called."""
        place = "".join(reversed(self._path)).removeprefix(".")
        if self.problem.startswith("must "):
            return f"{place or root} {self.problem}"
        return f"{place}: {self.problem}" if place else self.problem

    def __str__(self) -> str:
        return self.told()


_WORDS = {None: "null", True: "true", False: "false"}


def shown(value: object) -> str:
    """A value for an error message: short, one line, without control characters."""
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return _SHORT.repr(value)


WORD_BITS = 64
_FLOAT_CHARS = 64  # well over the 24 that the shortest exact form of a double takes


def parse(text: bytes | str, *, integer_bits: int = WORD_BITS) -> object:
    """Whatever is wrong with the text raises Malformed."""
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integers(integer_bits),
            parse_float=_float,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise Malformed(
            f"text must be UTF-8; got byte {error.object[error.start]:#04x} at position {error.start}"
        ) from error
    except json.JSONDecodeError as error:
        raise Malformed(f"text must be JSON; {error.msg} at position {error.pos}") from error
    except RecursionError as error:
        raise Malformed("must not be nested this deep") from error


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


@cache
def _integers(bits: int) -> Callable[[str], int]:
    """What reads integers of so many bits. It runs for every number of a file, so its bounds are worked out once."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    n_chars = len(str(low))

    def integer(text: str) -> int:
        value = int(text) if len(text) <= n_chars else None
        if value is None or not low <= value <= high:
            raise Malformed(f"integers must fit in {bits} bits; got {shown(text)}")
        return value

    return integer


def _float(text: str) -> float:
    value = float(text) if len(text) <= _FLOAT_CHARS else None
    if value is None or not isfinite(value):
        raise Malformed(f"numbers must fit in a double; got {shown(text)}")
    return value


def _constant(text: str) -> float:
    raise Malformed(f"numbers must be finite; got {text}")
