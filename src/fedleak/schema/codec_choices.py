"""One of several: types, texts, numbers of a range; what the metadata of a field allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fedleak.schema.codec import Codec, Put, Reading, near
from fedleak.schema.strict_json import Malformed, shown


class OptionalCodec(Codec):
    def __init__(self, item: Codec, words: str) -> None:
        self._item = item
        self.words = words

    def encode(self, value: object, put: Put) -> object:
        return None if value is None else self._item.encode(value, put)

    def decode(self, value: object, reading: Reading) -> object:
        return None if value is None else self._item.decode(value, reading)


class UnionCodec(Codec):
    """The first of several types that a value is of."""

    def __init__(self, members: tuple[Codec, ...]) -> None:
        self._members = members
        self.words = " or ".join(member.words for member in members)

    def encode(self, value: object, put: Put) -> object:
        return self._first(value, lambda member: member.encode(value, put))

    def decode(self, value: object, reading: Reading) -> object:
        return self._first(value, lambda member: member.decode(value, reading))

    def _first(self, value: object, attempt: Callable[[Codec], object]) -> object:
        for member in self._members:
            try:
                return attempt(member)
            except Malformed:
                continue
        raise Malformed(f"must be a {self.words}; got {shown(value)}")


class LiteralCodec(Codec):
    words = "text"

    def __init__(self, choices: tuple[str, ...]) -> None:
        self._choices = choices

    def encode(self, value: object, put: Put) -> object:
        return self._checked(value)

    def decode(self, value: object, reading: Reading) -> object:
        return self._checked(value)

    def _checked(self, value: object) -> object:
        if value not in self._choices:
            wanted = f"must be one of {', '.join(self._choices)}"
            raise Malformed(f"{wanted}; got {shown(value)}{near(value, self._choices)}")
        return value


def has_rules(metadata: Mapping[str, Any]) -> bool:
    """Whether a field's metadata say more than its type does."""
    return bool(metadata.get("choices")) or (metadata.get("least"), metadata.get("most")) != (None, None)


def check_rules(name: str, value: object, rules: Mapping[str, Any]) -> None:
    choices, least, most = rules.get("choices", ()), rules.get("least"), rules.get("most")
    if choices and value not in choices:
        wanted = f"must be one of {', '.join(choices)}; got {shown(value)}{near(value, choices)}"
        raise Malformed(wanted).within(name)
    if isinstance(value, int | float) and not _lies_within(value, least, most):
        raise Malformed(f"must be {range_words(least, most)}; got {shown(value)}").within(name)
    if isinstance(value, tuple) and least is not None and len(value) < least:
        raise Malformed(f"must be a list of at least {least}; got {shown(value)}").within(name)


def _lies_within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)  # a NaN lies nowhere


def range_words(least: float | None, most: float | None) -> str:
    if least is None:
        return f"at most {most:g}"
    return f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
