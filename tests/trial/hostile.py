"""Attacks that misbehave, each in one way that their audit must survive."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import BudgetSpentError, MissingExtraError, OracleError
from fedleak.core.payload import Array, Scalar
from fedleak.core.view import View
from fedleak.trial.wire import Kind, Wire

GARBAGE = b"\xff" * 64


def silent(view: View, why: str = "", status: Status = Status.UNDETERMINED) -> Guess:
    return Guess(view.target, status, np.arange(1), np.full((1, 1), 0.5), why=why)


def own_wire() -> Wire:
    """Of all that are left in memory, the one that is open."""
    return next(one for one in gc.get_objects() if isinstance(one, Wire) and one.connection.fileno() >= 0)


class Exits(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        os._exit(0)


class Crashes(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ctypes.string_at(0)
        return silent(view)


class Raises(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        raise ValueError("no way\nto go on")


class LacksAnExtra(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        raise MissingExtraError.of("sandwich", "lunch", "this attack")


@dataclass(frozen=True)
class Imports(ResidualSign):
    module: str = ""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        __import__(self.module)
        return silent(view, sys.modules[self.module].__name__)


class NeverEnds(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        while True:
            time.sleep(0.01)


class TellsAndNeverEnds(NeverEnds):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        self.interim(silent(view, "first", Status.PARTIAL))
        self.interim(silent(view, "second", Status.RECOVERED))
        return super().run(view, rng=rng)


class TakesAllMemory(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return silent(view, str(np.ones(1 << 31).sum()))


class MultipliesMegabytes(ResidualSign):
    """Ten of them, by a library that may not have been loaded before."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        from scipy.linalg.blas import dgemm

        return silent(view, str(dgemm(1.0, np.ones((640, 640)), np.ones((640, 640))).sum()))


class Multiplies(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        from scipy.linalg.blas import dgemm

        return silent(view, f"{dgemm(1.0, np.ones((160, 160)), np.ones((160, 160))).sum():g}")


class AnswersAboutAnother(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return replace(silent(view), secret=Secret(SecretKind.FEATURES, "bank"))


class AnswersNothing(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return None  # type: ignore[return-value]


class Forks(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        os.fork()
        return silent(view)


class KillsItsParent(ResidualSign):
    """By the C library: no hook sees it."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return silent(view, str(ctypes.CDLL(None).kill(os.getppid(), 9)))


class TellsItsProcess(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        return silent(view, f"{os.getpid()} {os.getppid()}")


class SendsGarbage(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        own_wire().connection.sendall(GARBAGE)
        return silent(view)


@dataclass(frozen=True)
class SendsAFrame(ResidualSign):
    """Of a kind that is known, with a body that is nonsense."""

    kind: str = "GUESS"
    body: str = "nonsense"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        own_wire().send(Kind[self.kind], self.body.encode())
        return silent(view, "it went on")


class Trickles(ResidualSign):
    """A frame that never ends, a byte at a time."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        connection = own_wire().connection
        connection.sendall(bytes([Kind.GUESS]) + (1 << 30).to_bytes(8, "big"))
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)


class Floods(ResidualSign):
    """Frames without end, faster than they are read."""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        wire = own_wire()
        while True:
            wire.send(Kind.READY)


class Asks(ResidualSign):
    """As often as its budget allows, and once more."""

    n_columns: ClassVar[int] = 5

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        oracle = next(iter(view.oracles.values()))
        for _ in range(2):
            oracle.query(Array(np.full((1, self.n_columns), 0.5)))
        try:
            oracle.query(Array(np.full((1, self.n_columns), 0.5)))
        except BudgetSpentError as error:
            return silent(view, f"{len(oracle.log)} {error}")
        return silent(view, "no budget")


class AsksNonsense(ResidualSign):
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        oracle = next(iter(view.oracles.values()))
        try:
            oracle.query(Scalar(1))
        except OracleError as error:
            return silent(view, f"{len(oracle.log)} {error}")
        return silent(view, "answered")
