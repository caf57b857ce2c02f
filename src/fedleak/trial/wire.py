"""What goes between an audit and the process of an attack: frames of a kind, a length and bytes.

Towards the attack they hold pickled values: it may read whatever is sent to it. From the attack they hold JSON and
stored values alone, because unpickling what a stranger's code wrote would run that code here.
"""

from __future__ import annotations

import io
import json
import pickle
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, IntEnum
from typing import Any

import numpy as np

from fedleak.core.adversary import Secret
from fedleak.core.attack import Attack
from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.oracle import OracleSpec
from fedleak.core.view import View

_HEAD = struct.Struct(">BQ")
MAX_FRAME_BYTES = 1 << 34


class Kind(IntEnum):
    READY = 1  # a process has loaded what it was told to
    LOAD = 2  # modules to import, or the view to hold
    REQUEST = 3
    STARTED = 4  # the process id of the attempt
    QUERY = 5  # for an oracle
    ANSWER = 6
    REFUSAL = 7  # of a query: which error the oracle raised
    INTERIM = 8  # a guess that is good as far as it goes
    GUESS = 9
    FAILURE = 10
    SPENT = 11  # the attack's own times, just before its guess
    VIEW = 12  # a small view itself; its arrays follow


@dataclass(frozen=True, eq=False)
class Described:
    """An attack by its class and parameters: it comes to life where it runs, not beside the truth."""

    kind: type
    parameters: Mapping[str, object]

    def made(self) -> Any:
        values = {
            name: value.made() if isinstance(value, Described) else value for name, value in self.parameters.items()
        }
        return self.kind(**values)


def described(attack: Attack | type[Attack]) -> Described:
    """Runs no code of the attack's: how it would pickle itself is not asked."""
    kind = attack if isinstance(attack, type) else type(attack)
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise InputError(
            f"{kind.__qualname__} must be a class of a module that another process can import; got a local one"
        )
    return Described(attack, {}) if isinstance(attack, type) else _described(attack)


def _described(value: object) -> Described:
    held = dict(vars(value))
    names = [field.name for field in fields(value)] if is_dataclass(value) else []
    if held.keys() != set(names):
        raise InputError(f"{type(value).__name__} must be a dataclass that holds its fields alone; got {sorted(held)}")
    return Described(type(value), {name: _plain(name, held[name]) for name in names})


def _plain(name: str, value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return _described(value)
    items = value if type(value) is tuple else (value,)
    if not all(type(item) in _PLAIN_TYPES or isinstance(item, Enum) for item in items):
        raise InputError(f"{name} must be a plain value, for the process of an attack; got {type(value).__name__}")
    return value


_PLAIN_TYPES = (type(None), bool, int, float, str)


@dataclass(frozen=True, eq=False)
class Request:
    """One attempt on the view that the process already holds."""

    attack: Described
    target: Secret
    facts: Facts
    knowledge: Knowledge
    oracles: Mapping[str, OracleSpec]
    rng: np.random.Generator
    memory_bytes: int | None
    strict_warnings: bool  # a warning counts as an error, where it does so here


class Wire:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, kind: Kind, body: bytes = b"") -> None:
        self.connection.sendall(_HEAD.pack(kind, len(body)))
        if body:
            self.connection.sendall(body)

    def send_view(self, view: View, most_bytes: int) -> bool:
        """With its arrays as they lie in memory; False where they are more than that, and nothing is sent."""
        packed = _Packed(most_bytes)
        try:
            pickle.Pickler(packed, protocol=5, buffer_callback=packed.keep).dump(view)
        except _TooLargeError:
            return False
        self.send(Kind.VIEW, json.dumps([part.nbytes for part in packed.parts]).encode() + b"\n" + packed.getvalue())
        for part in packed.parts:
            self.connection.sendall(part)
        return True

    def received_view(self, frame: bytes) -> View:
        """What ``send_view`` sent; arrays that are made from bytes cannot be written to."""
        lengths, _, body = frame.partition(b"\n")
        arrays = [bytes(self._exactly(length, None)) for length in json.loads(lengths)]
        view = pickle.loads(body, buffers=arrays)  # noqa: S301  (from the audit)
        assert isinstance(view, View)
        return view

    def receive(self, until: float | None = None) -> tuple[Kind, bytes]:
        """Raises EOFError where the other end is gone, TimeoutError at that time of the monotonic clock."""
        number, length = _HEAD.unpack(self._exactly(_HEAD.size, until))
        if length > MAX_FRAME_BYTES or number not in Kind.__members__.values():
            raise FileFormatError(f"a frame must be of a known kind and at most {MAX_FRAME_BYTES} bytes; got others")
        return Kind(number), bytes(self._exactly(length, until))

    def _exactly(self, length: int, until: float | None) -> bytearray:
        """The clock is looked at for every part: whoever sends a byte at a time gets no more of it."""
        found = bytearray()
        while len(found) < length:
            if until is not None:
                self.connection.settimeout(_left(until))
            part = self.connection.recv(min(length - len(found), 1 << 20))
            if not part:
                raise EOFError("the other end is gone")
            found += part
        return found

    def close(self) -> None:
        self.connection.close()


class _TooLargeError(Exception):
    pass


class _Packed(io.BytesIO):
    """A pickled value and, apart, its arrays, uncopied: given up as soon as they are too many, with the rest unread."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self.parts: list[memoryview] = []
        self._left = most_bytes

    def write(self, part: Any, /) -> int:
        self._take(memoryview(part).nbytes)
        return super().write(part)

    def keep(self, array: pickle.PickleBuffer) -> None:
        self.parts.append(array.raw())
        self._take(self.parts[-1].nbytes)

    def _take(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise _TooLargeError


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
