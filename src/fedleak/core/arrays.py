"""Array aliases, and the one way in which a value type makes its array read-only."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]

ScalarType = TypeVar("ScalarType", bound=np.generic)


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
