"""What goes between an audit and the process of an attack: frames of a kind, a length and bytes.

Towards the attack they hold pickled values: it may read whatever is sent to it. From the attack they hold JSON and
stored values alone, because unpickling what a stranger's code wrote would run that code here.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fedleak.core.adversary import Secret
from fedleak.core.attack import Attack
from fedleak.core.errors import FileFormatError
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.oracle import OracleSpec

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


@dataclass(frozen=True, eq=False)
class Request:
    """One attempt on the view that the process already holds."""

    attack: Attack
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

    def receive(self) -> tuple[Kind, bytes]:
        """Raises EOFError where the other end is gone."""
        number, length = _HEAD.unpack(self._exactly(_HEAD.size))
        if length > MAX_FRAME_BYTES or number not in Kind.__members__.values():
            raise FileFormatError(f"a frame must be of a known kind and at most {MAX_FRAME_BYTES} bytes; got others")
        return Kind(number), bytes(self._exactly(length))

    def _exactly(self, length: int) -> bytearray:
        found = bytearray()
        while len(found) < length:
            part = self.connection.recv(min(length - len(found), 1 << 20))
            if not part:
                raise EOFError("the other end is gone")
            found += part
        return found

    def close(self) -> None:
        self.connection.close()
