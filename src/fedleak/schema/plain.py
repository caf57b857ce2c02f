"""The dialects of values that people read and write: JSON of a report, TOML of a scenario.

Enums go by their values, figures that are not finite are null, and arrays, which are small, stand in the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.payload import ScalarValue
from fedleak.schema.codec import (
    BooleanCodec,
    Codec,
    EnumCodec,
    FloatCodec,
    IntegerCodec,
    Put,
    Reading,
    ScalarCodec,
    TextCodec,
    checked_text,
)
from fedleak.schema.codec_containers import Dialect, at_key
from fedleak.schema.strict_json import Malformed, shown

MAX_AXES = 4  # of an array in the text: images, height, width, channels


_SCALAR = ScalarCodec()
_FIGURE = FloatCodec()


class AnyValueCodec(Codec):
    """Whatever JSON can hold, to a bounded depth: for values that somebody else's schema describes."""

    words = "JSON value"

    def encode(self, value: object, put: Put) -> object:
        if isinstance(value, Mapping):
            return {str(key): at_key(str(key), self.encode, item, put) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [at_key(position, self.encode, item, put) for position, item in enumerate(value)]
        try:
            return _SCALAR.encode(value, put)
        except Malformed:
            raise Malformed(f"must be a JSON value; got {type(value).__name__}") from None

    def decode(self, value: object, reading: Reading) -> object:
        return reading.deeper(self._decode, value)

    def _decode(self, value: object, reading: Reading) -> object:
        if isinstance(value, dict):
            for key in value:
                checked_text(key, reading.limits.name_chars)
            return {key: at_key(key, self.decode, item, reading) for key, item in value.items()}
        if isinstance(value, list):
            return [at_key(position, self.decode, item, reading) for position, item in enumerate(value)]
        return _SCALAR.decode(value, reading)


class NestedListCodec(Codec):
    """An array as lists within lists, all of one length; a cell that is not finite is null."""

    words = "list of numbers, or of lists of one length"

    def __init__(self, scalar_type: Any) -> None:
        self._scalar_type = scalar_type

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, np.ndarray):
            raise Malformed(f"must be a numpy array; got {type(value).__name__}")
        return _cells(value)

    def decode(self, value: object, reading: Reading) -> object:
        _check_cells(value, reading)
        try:
            return np.array(value, dtype=self._scalar_type)  # null becomes NaN
        except (ValueError, TypeError, OverflowError):
            raise Malformed("must be numbers in rows of one length; got others") from None


def _cells(array: AnyArray) -> object:
    if array.ndim == 0:
        return float(array) if np.isfinite(array) else None
    return [_cells(part) for part in array]


def _check_cells(value: object, reading: Reading, axes: int = 1) -> None:
    if not isinstance(value, list):
        raise Malformed(f"must be a list; got {shown(value)}")
    for position, item in enumerate(value):
        if isinstance(item, list) and axes < MAX_AXES:
            at_key(position, partial(_check_cells, axes=axes + 1), item, reading)
        elif isinstance(item, list):
            raise Malformed(f"must be a number, at most {MAX_AXES} axes deep; got {shown(item)}").within(position)
        elif item is not None:
            at_key(position, _FIGURE.decode, item, reading)


def _enum(kind: type[Enum]) -> Codec:
    return EnumCodec(kind, by_value=True)


JSON = Dialect(
    leaves={
        str: TextCodec(),
        bool: BooleanCodec(),
        int: IntegerCodec(),
        float: _FIGURE,
        ScalarValue: _SCALAR,
        object: AnyValueCodec(),
    },
    enum=_enum,
    array=NestedListCodec,
    tags={},
)
TOML = replace(JSON, object_words="table", or_nothing="")  # a key without a value is left out
