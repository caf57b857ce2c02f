"""Lists, mappings and dataclasses, and the choice between them that a type annotation makes.

The annotations of the dataclasses are the schema: a field that is added to one of them is stored without a change
here. Formats differ in their ``Dialect`` alone: what becomes of the leaves, of enums, arrays and tagged unions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from fedleak.core.errors import FedleakError, nearest_or_list
from fedleak.core.payload import UNLESS_GIVEN
from fedleak.schema.codec import Codec, Put, Reading, checked_text, near, nowhere
from fedleak.schema.codec_choices import LiteralCodec, OptionalCodec, UnionCodec, check_rules, has_rules
from fedleak.schema.strict_json import Malformed, shown

ValueT = TypeVar("ValueT")
ContextT = TypeVar("ContextT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class Dialect:
    """What a format does in its own way."""

    leaves: Mapping[Any, Codec]  # by annotation
    enum: Callable[[type[Enum]], Codec]
    array: Callable[[Any], Codec]  # by the scalar type of the annotation; Any allows every one
    # By union, or by a member: the key that says which, and the tags.
    tags: Mapping[Any, tuple[str, Mapping[str, type]]]
    object_words: str = "object"  # what the format calls a mapping
    or_nothing: str = " or null"  # what it calls a value that may be missing


class ListCodec(Codec):
    def __init__(self, item: Codec, build: Callable[[Iterable[object]], object], length: int | None = None) -> None:
        self._item = item
        self._build = build
        self._length = length  # None allows any
        self.words = f"list of {'' if length is None else f'{length} '}{_plural(item.words)}"

    def encode(self, value: object, put: Put) -> object:
        if isinstance(value, frozenset):
            return sorted(cast(str, self._item.encode(item, put)) for item in value)
        if not isinstance(value, tuple | list):
            raise Malformed(f"must be a tuple; got {type(value).__name__}")
        return [at_key(position, self._item.encode, item, put) for position, item in enumerate(value)]

    def decode(self, value: object, reading: Reading) -> object:
        if not isinstance(value, list) or self._length not in (None, len(value)):
            raise Malformed(f"must be a {self.words}; got {shown(value)}")
        return self._build([at_key(position, self._item.decode, item, reading) for position, item in enumerate(value)])


class MappingCodec(Codec):
    def __init__(self, item: Codec, words: str) -> None:
        self._item = item
        self._kind = words
        self.words = f"{words} of {_plural(item.words)}"

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, Mapping):
            raise Malformed(f"must be a mapping; got {type(value).__name__}")
        if not all(isinstance(key, str) for key in value):
            raise Malformed(f"keys must be texts; got {shown(list(value))}")
        return {str(key): at_key(key, self._item.encode, item, put) for key, item in value.items()}

    def decode(self, value: object, reading: Reading) -> object:
        found = {}
        for key, item in as_object(value, self._kind).items():
            checked_text(key, reading.limits.name_chars)
            found[key] = at_key(key, self._item.decode, item, reading)
        return found


class DataclassCodec(Codec):
    """A key a field. A key that is missing takes the field's default; an unknown one is refused.

    A field that was added later says so, and is left out where it has its default.
    """

    def __init__(self, kind: type, dialect: Dialect) -> None:
        self._kind = kind
        self.words = dialect.object_words
        hints = get_type_hints(kind)
        given = {field.name: field for field in fields(kind) if field.init}
        self._codecs = {name: codec_for(hints[name], dialect) for name in given}
        self._required = {name: field for name, field in given.items() if is_required(field)}
        self._checked = {name: field.metadata for name, field in given.items() if has_rules(field.metadata)}
        self._later = {name: field.default for name, field in given.items() if field.metadata == UNLESS_GIVEN}

    def encode(self, value: object, put: Put) -> dict[str, object]:
        if not isinstance(value, self._kind):
            raise Malformed(f"must be of type {self._kind.__name__}; got {type(value).__name__}")
        found = {name: getattr(value, name) for name in self._codecs}
        told = {name: item for name, item in found.items() if name not in self._later or not self._usual(name, item)}
        return {name: at_key(name, self._codecs[name].encode, item, put) for name, item in told.items()}

    def _usual(self, name: str, item: object) -> bool:
        """A number is its default where it is equal: one that travelled is another object. Arrays are compared with
        nothing."""
        default = self._later[name]
        return item is default or (isinstance(default, bool | int | float | str) and item == default)

    def decode(self, value: object, reading: Reading) -> object:
        found = as_object(value, self.words)
        if found.keys() != self._codecs.keys():
            self._check_keys(found.keys())
        arguments = {name: at_key(name, self._codecs[name].decode, item, reading) for name, item in found.items()}
        for name, rules in self._checked.items():
            if name in arguments:
                check_rules(name, arguments[name], rules)
        try:
            return self._kind(**arguments)
        except (TypeError, ValueError, FedleakError) as error:  # the type's own checks
            raise Malformed(str(error)) from error

    def _check_keys(self, keys: Iterable[str]) -> None:
        unknown, missing = set(keys) - self._codecs.keys(), self._required.keys() - set(keys)
        if unknown:
            key = min(unknown)
            hint = nearest_or_list(key[:MAX_KEY_CHARS], self._codecs)
            raise Malformed(f"unknown key {shown(key)}{hint}")
        if missing:
            name = next(name for name in self._required if name in missing)
            about = self._required[name].metadata.get("about", "")
            raise Malformed(f"the key {name!r} is missing" + (f"; {about}" if about else ""))


MAX_KEY_CHARS = 100  # of a wrong key that is compared with the known ones


def is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


class TaggedCodec(Codec):
    """One of several dataclasses: the object's first key says which."""

    def __init__(self, tag_key: str, tags: Mapping[str, type], dialect: Dialect) -> None:
        self._tag_key = tag_key
        self._dialect = dialect
        self.words = dialect.object_words
        self._types = dict(tags)
        self._tags = {kind: tag for tag, kind in tags.items()}

    def encode(self, value: object, put: Put) -> object:
        tag = self._tags.get(type(value))
        if tag is None:
            raise Malformed(f"must be one of {', '.join(self._types)}; got {type(value).__name__}")
        return {self._tag_key: tag, **_dataclass_codec(self._types[tag], self._dialect).encode(value, put)}

    def decode(self, value: object, reading: Reading) -> object:
        found = dict(as_object(value, self.words))
        tag = found.pop(self._tag_key, None)
        if not isinstance(tag, str) or tag not in self._types:
            wanted = f"must be one of {', '.join(self._types)}; got {shown(tag)}{near(tag, self._types)}"
            raise Malformed(wanted).within(self._tag_key)
        return reading.deeper(_dataclass_codec(self._types[tag], self._dialect).decode, found)


@cache
def codec_for(annotation: Any, dialect: Dialect) -> Codec:
    """The codec of a type annotation in a format."""
    annotation = _without_alias(annotation)
    if annotation in dialect.leaves:
        return dialect.leaves[annotation]
    if annotation in dialect.tags:
        return TaggedCodec(*dialect.tags[annotation], dialect)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and origin is None:
        return _class_codec(annotation, dialect)
    if origin in _BY_ORIGIN:
        return _BY_ORIGIN[origin](arguments, dialect)
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


def _class_codec(kind: type, dialect: Dialect) -> Codec:
    if issubclass(kind, Enum):
        return dialect.enum(kind)
    if is_dataclass(kind):
        return _dataclass_codec(kind, dialect)
    raise TypeError(f"annotation must be one that the file format knows; got {kind}")


@cache
def _dataclass_codec(kind: type, dialect: Dialect) -> DataclassCodec:
    return DataclassCodec(kind, dialect)


def _union_codec(arguments: tuple[Any, ...], dialect: Dialect) -> Codec:
    others = tuple(codec_for(argument, dialect) for argument in arguments if argument is not types.NoneType)
    one = others[0] if len(others) == 1 else UnionCodec(others)
    return OptionalCodec(one, one.words + dialect.or_nothing) if len(others) < len(arguments) else one


def _tuple_codec(arguments: tuple[Any, ...], dialect: Dialect) -> Codec:
    """Any number of items (``tuple[int, ...]``), or as many as the annotation names, all of one type."""
    length = None if arguments[-1] is Ellipsis else len(arguments)
    return ListCodec(codec_for(arguments[0], dialect), tuple, length)


_BY_ORIGIN: Mapping[Any, Callable[[tuple[Any, ...], Dialect], Codec]] = {
    tuple: _tuple_codec,
    frozenset: lambda arguments, dialect: ListCodec(codec_for(arguments[0], dialect), frozenset),
    Mapping: lambda arguments, dialect: MappingCodec(codec_for(arguments[1], dialect), dialect.object_words),
    np.ndarray: lambda arguments, dialect: dialect.array(get_args(arguments[1])[0]),
    types.UnionType: _union_codec,
    Union: _union_codec,
    Literal: lambda arguments, dialect: LiteralCodec(arguments),
}


def at_key(
    name: str | int, convert: Callable[[object, ContextT], ResultT], value: object, context: ContextT
) -> ResultT:
    """What ``convert`` makes of a part; where it is wrong, the error says under which key."""
    try:
        return convert(value, context)
    except Malformed as error:
        raise error.within(name) from None


def as_object(value: object, words: str = "object") -> dict[str, object]:
    if not isinstance(value, dict):
        raise Malformed(f"must be {'an' if words[0] in 'aeiou' else 'a'} {words}; got {shown(value)}")
    return value


def _plural(words: str) -> str:
    return " or ".join(word if word.endswith("s") else f"{word}s" for word in words.split(" or "))


def encode(kind: type[ValueT], value: ValueT, dialect: Dialect, put: Put = nowhere) -> object:
    annotation: Any = kind
    return codec_for(annotation, dialect).encode(value, put)


def decode(kind: type[ValueT], value: object, dialect: Dialect, reading: Reading) -> ValueT:
    annotation: Any = kind
    return cast(ValueT, codec_for(annotation, dialect).decode(value, reading))
