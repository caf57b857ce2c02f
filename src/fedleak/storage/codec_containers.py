"""Arrays, lists, mappings and dataclasses, and the choice between them that a type annotation makes.

The annotations of the core types are the schema: a field that is added to one of them is stored
without a change here. A test holds the result against a folder that was written before.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import (
    UNLESS_GIVEN,
    Array,
    CipherArray,
    IntegerArray,
    ModelSpec,
    Payload,
    Scalar,
    ScalarValue,
    Table,
    Texts,
    Tree,
)
from fedleak.protocols import vocabularies
from fedleak.storage.codec import (
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
from fedleak.storage.segments import ArrayRef
from fedleak.storage.strict_json import Malformed, shown

PAYLOAD_TAGS: Mapping[str, type] = {
    "array": Array,
    "cipher-array": CipherArray,
    "integer-array": IntegerArray,
    "scalar": Scalar,
    "texts": Texts,
    "table": Table,
    "model": ModelSpec,
    "tree": Tree,
}


class ArrayCodec(Codec):
    def __init__(self, scalar_type: object) -> None:
        self._scalar_type = scalar_type  # of the annotation; Any allows every storable dtype

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, np.ndarray):
            raise Malformed(f"value must be a numpy array; got {type(value).__name__}")
        return codec_for(ArrayRef).encode(put(value), put)

    def decode(self, value: object, reading: Reading) -> object:
        ref = cast(ArrayRef, codec_for(ArrayRef).decode(value, reading))
        ref.check(reading.limits)
        array = reading.resolve(ref)
        if self._scalar_type is not Any and array.dtype.type is not self._scalar_type:
            raise Malformed(f"array must be of type {getattr(self._scalar_type, '__name__', '?')}; got {ref.dtype}")
        return array


class ListCodec(Codec):
    def __init__(self, item: Codec, build: Callable[[Iterable[object]], object]) -> None:
        self._item = item
        self._build = build

    def encode(self, value: object, put: Put) -> object:
        if isinstance(value, frozenset):
            return sorted(cast(str, self._item.encode(item, put)) for item in value)
        if not isinstance(value, tuple | list):
            raise Malformed(f"value must be a tuple; got {type(value).__name__}")
        return [_encode_at(f"item{position}", self._item, item, put) for position, item in enumerate(value)]

    def decode(self, value: object, reading: Reading) -> object:
        if not isinstance(value, list):
            raise Malformed(f"value must be a list; got {shown(value)}")
        return self._build(
            [_decode_at(f"item{position}", self._item, item, reading) for position, item in enumerate(value)]
        )


class MappingCodec(Codec):
    def __init__(self, item: Codec) -> None:
        self._item = item

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, Mapping):
            raise Malformed(f"value must be a mapping; got {type(value).__name__}")
        if not all(isinstance(key, str) for key in value):
            raise Malformed(f"keys must be texts; got {shown(list(value))}")
        return {str(key): _encode_at(key, self._item, item, put) for key, item in value.items()}

    def decode(self, value: object, reading: Reading) -> object:
        found = {}
        for key, item in _object(value).items():
            checked_text(key, reading.limits.name_chars)
            found[key] = _decode_at(key, self._item, item, reading)
        return found


class DataclassCodec(Codec):
    """A key a field. A key that is missing takes the field's default; an unknown one is refused.

    A field that was added later says so, and is left out where it has its default.
    """

    def __init__(self, kind: type) -> None:
        self._kind = kind
        hints = get_type_hints(kind)
        self._codecs = {field.name: codec_for(hints[field.name]) for field in fields(kind)}
        self._required = {
            field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
        }
        self._later = {field.name: field.default for field in fields(kind) if field.metadata == UNLESS_GIVEN}

    def encode(self, value: object, put: Put) -> dict[str, object]:
        if not isinstance(value, self._kind):
            raise Malformed(f"value must be of type {self._kind.__name__}; got {type(value).__name__}")
        found = {name: getattr(value, name) for name in self._codecs}
        given = {name: item for name, item in found.items() if name not in self._later or item is not self._later[name]}
        return {name: _encode_at(name, self._codecs[name], item, put) for name, item in given.items()}

    def decode(self, value: object, reading: Reading) -> object:
        found = _object(value)
        if found.keys() != self._codecs.keys():
            self._check_keys(found.keys())
        arguments = {name: _decode_at(name, self._codecs[name], item, reading) for name, item in found.items()}
        try:
            return self._kind(**arguments)
        except (TypeError, ValueError) as error:  # the type's own checks
            raise Malformed(str(error)) from error

    def _check_keys(self, keys: Iterable[str]) -> None:
        unknown, missing = set(keys) - self._codecs.keys(), self._required - set(keys)
        if unknown:
            raise Malformed(f"keys must be of {', '.join(self._codecs)}; got {shown(min(unknown))}")
        if missing:
            raise Malformed(f"key {shown(min(missing))} must be given; it is missing")


class TaggedCodec(Codec):
    """One of several dataclasses: the object's first key says which."""

    def __init__(self, tag_key: str, tags: Mapping[str, type]) -> None:
        self._tag_key = tag_key
        self._types = dict(tags)
        self._tags = {kind: tag for tag, kind in tags.items()}

    def encode(self, value: object, put: Put) -> object:
        tag = self._tags.get(type(value))
        if tag is None:
            raise Malformed(f"value must be one of {', '.join(self._types)}; got {type(value).__name__}")
        return {self._tag_key: tag, **_dataclass_codec(self._types[tag]).encode(value, put)}

    def decode(self, value: object, reading: Reading) -> object:
        found = dict(_object(value))
        tag = found.pop(self._tag_key, None)
        if not isinstance(tag, str) or tag not in self._types:
            raise Malformed(f"{self._tag_key} must be one of {', '.join(self._types)}; got {shown(tag)}")
        if reading.level >= reading.limits.n_levels:
            raise Malformed(f"payloads must nest at most {reading.limits.n_levels} deep; got more")
        reading.level += 1
        try:
            return _dataclass_codec(self._types[tag]).decode(found, reading)
        finally:
            reading.level -= 1


class ProtocolFactsCodec(Codec):
    """By the kinds that vocabularies of listed protocols declare, asked each time; a file names a kind, no module."""

    def encode(self, value: object, put: Put) -> object:
        return self._kinds().encode(value, put)

    def decode(self, value: object, reading: Reading) -> object:
        return self._kinds().decode(value, reading)

    def _kinds(self) -> TaggedCodec:
        return TaggedCodec("kind", {facts.kind: facts for words in vocabularies() for facts in words.facts})


class OptionalCodec(Codec):
    def __init__(self, item: Codec) -> None:
        self._item = item

    def encode(self, value: object, put: Put) -> object:
        return None if value is None else self._item.encode(value, put)

    def decode(self, value: object, reading: Reading) -> object:
        return None if value is None else self._item.decode(value, reading)


@cache
def codec_for(annotation: Any) -> Codec:
    """The codec of a type annotation of the core types."""
    annotation = _without_alias(annotation)
    if annotation in _BY_TYPE:
        return _BY_TYPE[annotation]()
    if annotation == Payload:
        return TaggedCodec("type", PAYLOAD_TAGS)
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return _class_codec(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _BY_ORIGIN:
        return _BY_ORIGIN[origin](arguments)
    raise TypeError(f"annotation must be one that the file format knows; got {annotation}")


def _without_alias(annotation: Any) -> Any:
    """What a ``type`` statement names: numpy 2.5 makes NDArray one, which hides the ndarray behind ``__value__``."""
    while True:
        origin = get_origin(annotation)
        if hasattr(origin, "__value__"):  # NDArray[float64]
            annotation = origin.__value__[get_args(annotation)]
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation


def _class_codec(kind: type) -> Codec:
    if issubclass(kind, Enum):
        return EnumCodec(kind)
    tags = {tag: member for tag, member in PAYLOAD_TAGS.items() if member is kind}
    if tags:  # a payload carries its tag also where only one kind is possible
        return TaggedCodec("type", tags)
    if is_dataclass(kind):
        return _dataclass_codec(kind)
    raise TypeError(f"annotation must be one that the file format knows; got {kind}")


@cache
def _dataclass_codec(kind: type) -> DataclassCodec:
    return DataclassCodec(kind)


def _optional_codec(arguments: tuple[Any, ...]) -> Codec:
    others = [argument for argument in arguments if argument is not types.NoneType]
    if len(others) != 1 or len(others) == len(arguments):
        raise TypeError(f"annotation must be a type or None; got {arguments}")
    return OptionalCodec(codec_for(others[0]))


_BY_TYPE: Mapping[Any, Callable[[], Codec]] = {
    str: TextCodec,
    bool: BooleanCodec,
    int: IntegerCodec,
    float: FloatCodec,
    ScalarValue: ScalarCodec,
    ProtocolFacts: ProtocolFactsCodec,
}
_BY_ORIGIN: Mapping[Any, Callable[[tuple[Any, ...]], Codec]] = {
    tuple: lambda arguments: ListCodec(codec_for(arguments[0]), tuple),
    frozenset: lambda arguments: ListCodec(codec_for(arguments[0]), frozenset),
    Mapping: lambda arguments: MappingCodec(codec_for(arguments[1])),
    np.ndarray: lambda arguments: ArrayCodec(get_args(arguments[1])[0]),
    types.UnionType: _optional_codec,
    Union: _optional_codec,
}


def _encode_at(name: str, codec: Codec, value: object, put: Put) -> object:
    try:
        return codec.encode(value, put)
    except Malformed as error:
        raise error.within(name) from None


def _decode_at(name: str, codec: Codec, value: object, reading: Reading) -> object:
    try:
        return codec.decode(value, reading)
    except Malformed as error:
        raise error.within(name) from None


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Malformed(f"value must be an object; got {shown(value)}")
    return value


ValueT = TypeVar("ValueT")


def encode(kind: type[ValueT], value: ValueT, put: Put) -> object:
    annotation: Any = kind
    return codec_for(annotation).encode(value, put)


def decode(kind: type[ValueT], value: object, reading: Reading) -> ValueT:
    annotation: Any = kind
    return cast(ValueT, codec_for(annotation).decode(value, reading))
