"""Rows by their ids, as messages name them, and by their position in a party's table."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import ProtocolError
from fedleak.core.payload import Array, CipherArray, Payload, Scalar, Tree


class RowIndex:
    def __init__(self, ids: IntArray) -> None:
        self.ids = ids
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    def positions(self, wanted: AnyArray) -> IntArray:
        place = np.minimum(np.searchsorted(self._sorted, wanted), max(len(self.ids) - 1, 0))
        if len(wanted) and (not len(self.ids) or (self._sorted[place] != wanted).any()):
            raise ProtocolError("rows in a message must be rows that both parties hold; got others")
        return np.asarray(self._order[place], dtype=np.int64)


def integers(message: Payload, name: str) -> IntArray:
    """A list of whole numbers in a message, or an error that says what came instead."""
    found = _part(message, name)
    if not isinstance(found, Array) or found.values.ndim != 1 or found.values.dtype.kind not in "iu":
        raise ProtocolError(f"{name} in a message must be a list of whole numbers; got {_shown(found)}")
    return found.values.astype(np.int64)


def number(message: Payload, name: str) -> int:
    found = _part(message, name)
    if not isinstance(found, Scalar) or isinstance(found.value, bool) or not isinstance(found.value, int):
        raise ProtocolError(f"{name} in a message must be a whole number; got {_shown(found)}")
    return found.value


def ciphertexts(message: Payload, name: str) -> CipherArray:
    found = _part(message, name)
    if not isinstance(found, CipherArray):
        raise ProtocolError(f"{name} in a message must be ciphertexts; got {_shown(found)}")
    return found


def directions(message: Payload, n_wanted: int, who: str) -> AnyArray:
    """Which way rows go: a boolean for each that was asked about."""
    found = _part(message, "left")
    if not isinstance(found, Array) or found.values.dtype.kind != "b" or found.values.shape != (n_wanted,):
        raise ProtocolError(f"{who} must answer with a direction for each of {n_wanted} rows; got {_shown(found)}")
    return found.values


def _part(message: Payload, name: str) -> Payload | None:
    return message.items.get(name) if isinstance(message, Tree) else None


def _shown(found: Payload | None) -> str:
    if isinstance(found, Array):
        return f"{found.values.dtype} of shape {found.values.shape}"
    return "nothing" if found is None else type(found).__name__
