"""Array aliases, rows with cells of any shape, and the one way in which a value type makes its arrays and mappings
read-only, also where it travels to another process."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Mapping
from dataclasses import fields
from math import prod
from types import MappingProxyType
from typing import Any, SupportsInt, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
SignArray = npt.NDArray[np.int8]
AnyArray = npt.NDArray[Any]

ScalarType = TypeVar("ScalarType", bound=np.generic)
KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")


def freeze(array: npt.NDArray[ScalarType]) -> npt.NDArray[ScalarType]:
    """A read-only view; the caller's own array stays writable, memory maps stay memory maps."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def settled(array: npt.NDArray[ScalarType]) -> npt.NDArray[ScalarType]:
    """A read-only array whose memory nobody can write to any more: a copy, unless that is so already."""
    return freeze(array.copy()) if _can_be_written(array) else freeze(array)


def _can_be_written(array: AnyArray) -> bool:
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return False


def read_only(mapping: Mapping[KeyT, ItemT]) -> MappingProxyType[KeyT, ItemT]:
    """A copy that nobody can change."""
    return MappingProxyType(dict(mapping))


copyreg.pickle(MappingProxyType, lambda proxy: (read_only, (dict(proxy),)))  # Python's own do not pickle


class Value:
    """Base of the dataclasses that hold arrays: pickle builds them anew, so that their checks run and what they have
    cached stays behind. Their arrays are read-only there too, and of the same bytes."""

    def __reduce__(self) -> tuple[object, ...]:
        own = [field.name for field in fields(self) if field.init]  # type: ignore[arg-type]
        return _rebuilt, (type(self), {name: _to_send(getattr(self, name)) for name in own})


def _rebuilt(kind: type[Value], given: dict[str, object]) -> Value:
    return kind(**given)


class _Sent:
    """An array on its way: numpy's own way makes it writable, and may turn its byte order."""

    def __init__(self, array: AnyArray) -> None:
        self._array = array

    def __reduce__(self) -> tuple[object, ...]:
        flat = np.ascontiguousarray(self._array).reshape(-1)
        return _received, (flat.view(np.uint8), self._array.dtype.str, self._array.shape)


def _received(data: ByteArray, dtype: str, shape: tuple[int, ...]) -> AnyArray:
    return freeze(data.view(dtype).reshape(shape))


def _to_send(value: object) -> object:
    """The value with its arrays wrapped, also those in a tuple or a mapping of its own."""
    if isinstance(value, np.ndarray):
        return value if value.dtype.hasobject else _Sent(value)
    if type(value) is tuple:
        return tuple(_to_send(item) for item in value)
    if isinstance(value, MappingProxyType):
        return {key: _to_send(item) for key, item in value.items()}
    return value


def flat_rows(array: npt.NDArray[ScalarType]) -> npt.NDArray[ScalarType]:
    """(rows, cells), whatever shape a row has; a table stays the very array that it is."""
    return array.reshape(len(array), prod(array.shape[1:]))


def positions_of(ids: Iterable[SupportsInt]) -> dict[int, int]:
    """Where each row id stands; of an id that recurs, its last place."""
    return {int(row): index for index, row in enumerate(ids)}
