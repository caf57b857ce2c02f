"""The part of Universal Binary JSON that XGBoost writes: objects, arrays, texts, numbers, booleans."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from fedleak.core.errors import FileFormatError

NUMBERS = {"i": ">b", "U": ">B", "I": ">h", "l": ">i", "L": ">q", "d": ">f", "D": ">d"}
MOST_LEVELS = 32


def documents(data: bytes) -> list[Any]:
    """All that stand one after the other."""
    found, place = [], 0
    try:
        while place < len(data):
            value, place = _value(data, place, 0)
            found.append(value)
    except (IndexError, TypeError, struct.error, ValueError) as error:
        raise FileFormatError(f"a message must be whole UBJSON; it breaks off or is damaged at byte {place}") from error
    return found


def _value(data: bytes, at: int, level: int) -> tuple[Any, int]:
    if level > MOST_LEVELS:
        raise ValueError("too deep")
    kind, at = chr(data[at]), at + 1
    if kind == "{":
        return _object(data, at, level)
    if kind == "[":
        return _list(data, at, level)
    if kind == "S":
        return _text(data, at)
    if kind in "TF":
        return kind == "T", at
    if kind == "Z":
        return None, at
    return _number(data, kind, at)


def _number(data: bytes, kind: str, at: int) -> tuple[Any, int]:
    if kind not in NUMBERS:
        raise ValueError(f"unknown kind {kind!r}")
    end = at + struct.calcsize(NUMBERS[kind])
    return struct.unpack(NUMBERS[kind], data[at:end])[0], end


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, start = _number(data, chr(data[at]), at + 1)
    if not 0 <= length <= len(data) - start:
        raise ValueError("a text of an impossible length")
    return data[start : start + length].decode("utf-8"), start + length


def _object(data: bytes, at: int, level: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while data[at] != ord("}"):
        name, at = _text(data, at)
        found[name], at = _value(data, at, level + 1)
    return found, at + 1


def _list(data: bytes, at: int, level: int) -> tuple[list[Any], int]:
    if data[at] == ord("$"):
        return _numbers(data, at)
    if data[at] == ord("#"):
        return _counted(data, at, level)
    found = []
    while data[at] != ord("]"):
        value, at = _value(data, at, level + 1)
        found.append(value)
    return found, at + 1


def _counted(data: bytes, at: int, level: int) -> tuple[list[Any], int]:
    """Values of any kind, with their count before them and no end."""
    count, at = _value(data, at + 1, 0)
    if not 0 <= count <= len(data) - at:
        raise ValueError("a list of an impossible length")
    found = []
    for _ in range(count):
        value, at = _value(data, at, level + 1)
        found.append(value)
    return found, at


def _numbers(data: bytes, at: int) -> tuple[list[Any], int]:
    """Of one kind, with their count before them."""
    kind = NUMBERS.get(chr(data[at + 1]), "")
    if not kind or data[at + 2] != ord("#"):
        raise ValueError("a list of an unknown kind")
    count, start = _value(data, at + 3, 0)
    end = start + count * struct.calcsize(kind)
    if count < 0 or end > len(data):
        raise ValueError("a list of an impossible length")
    return np.frombuffer(data[start:end], dtype=kind).tolist(), end
