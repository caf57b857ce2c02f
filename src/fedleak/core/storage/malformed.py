"""Something in a stored value is wrong; where the value stands is added on the way out."""

from __future__ import annotations

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
