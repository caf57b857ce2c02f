"""What the audit says to one attempt and hears from it: queries and answers, interim guesses, the guess, a failure.

The attack on the other end is a stranger's code: nothing that it sends is unpickled or believed, and none of it can
keep the audit waiting for longer than the limits say.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fedleak.core.attack import Guess, Status
from fedleak.core.errors import FedleakError, OracleError, in_one_line, name_and_message
from fedleak.core.oracle import Oracle
from fedleak.storage.view_and_guess import guess_from_bytes, payload_from_bytes
from fedleak.trial.spent import Spent
from fedleak.trial.wire import Kind, Wire


@dataclass(frozen=True)
class Limits:
    """Of one attempt; None is no limit."""

    wall_seconds: float | None = None
    memory_bytes: int | None = None  # beyond what its process begins with: the view, and what is imported


class AttackFailedError(Exception):
    """An attack raised, crashed, or was ended. ``skipped``: it lacks something, which is no failure of its own."""

    def __init__(self, why: str, *, skipped: bool = False, trace: str = "") -> None:
        super().__init__(why)
        self.skipped = skipped
        self.trace = trace


class Conversation:
    """With one attempt, from its start to its guess."""

    def __init__(self, wire: Wire, oracles: Mapping[str, Oracle], limits: Limits) -> None:
        _, number = wire.receive()
        self.address_limit = _address_limit(int(number), limits)
        self._process = os.pidfd_open(int(number))  # a number could be another process's by the time it is used
        self._wire = wire
        self._oracles = oracles
        self._limits = limits
        self._until = None if limits.wall_seconds is None else time.monotonic() + limits.wall_seconds
        self._interim: Guess | None = None
        self.spent: Spent | None = None

    def guess(self, request: bytes) -> Guess:
        try:
            self._wire.send(Kind.REQUEST, request)
            while True:
                kind, body = self._wire.receive(self._until)
                if kind is Kind.GUESS:
                    return guess_from_bytes(body)
                self._handle(kind, body)
        except TimeoutError:
            return self._ended(f"it took longer than the {self._limits.wall_seconds:g} s that it was given")
        except (EOFError, ConnectionError):
            return self._ended("its process ended without an answer: it crashed, or the system ended it")
        except AttackFailedError:
            raise
        except Exception as error:  # whatever comes of reading what a stranger's code sent is that code's failure
            raise AttackFailedError(f"its answer cannot be read: {in_one_line(error)}") from error

    def _handle(self, kind: Kind, body: bytes) -> None:
        if kind is Kind.QUERY:
            self._answer(body)
        elif kind is Kind.INTERIM:
            self._interim = guess_from_bytes(body)
        elif kind is Kind.SPENT:
            self.spent = Spent.from_bytes(body)
        elif kind is Kind.FAILURE:
            told = json.loads(body)
            error, message, trace = (str(told[name]) for name in ("error", "message", "trace"))
            skipped = told["skipped"] is True
            why = message if skipped else self._why(error, message)
            raise AttackFailedError(why, skipped=skipped, trace=trace)

    def _why(self, error: str, message: str) -> str:
        if error == MemoryError.__name__ and self._limits.memory_bytes is not None:
            return f"it needed more than the {self._limits.memory_bytes / 1e6:g} MB of memory that it was given"
        return name_and_message(error, message)

    def _answer(self, body: bytes) -> None:
        name, _, query = body.partition(b"\n")
        try:
            answer = self._oracles[name.decode()].query(payload_from_bytes(query))
        except Exception as error:  # the query is the attack's, so the failure is too
            kind = type(error).__name__ if isinstance(error, FedleakError) else OracleError.__name__
            reply = Kind.REFUSAL, json.dumps({"error": kind, "message": str(error)}).encode()
        else:
            reply = Kind.ANSWER, pickle.dumps(answer)
        with suppress(ConnectionError):  # who does not wait for the answer may have sent its guess all the same
            self._wire.send(*reply)

    def _ended(self, why: str) -> Guess:
        """What the attack had told so far is its answer, and never more than a part."""
        if self._interim is None:
            raise AttackFailedError(why)
        return replace(self._interim, status=Status.UNDETERMINED, why=f"{why}; this is what it had until then")

    def end(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        os.close(self._process)
        self._wire.close()


def _address_limit(process: int, limits: Limits) -> int | None:
    """In bytes of address space, which is what the system can bound; asked from here, since the process may not."""
    if limits.memory_bytes is None:
        return None
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE") + limits.memory_bytes
