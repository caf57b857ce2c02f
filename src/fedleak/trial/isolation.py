"""An attack in a process that holds the view and nothing else: the audit's side of it.

The audit keeps the truth, the services and the clock. It answers queries, counts and logs them, ends an attempt that
takes too long, and reads the guess from its bytes.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from fedleak.core.attack import Attack, Guess, Status
from fedleak.core.errors import FedleakError, OracleError, in_one_line
from fedleak.core.knowledge import Knowledge
from fedleak.core.oracle import Oracle
from fedleak.core.view import View
from fedleak.storage.view_and_guess import guess_from_bytes, payload_from_bytes, save_view
from fedleak.trial.attack_process import FOR_A_VIEW, FOR_AN_ATTEMPT, FOR_MODULES
from fedleak.trial.spent import Spent
from fedleak.trial.wire import Kind, Request, Wire, described

KEPT_VARIABLES = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "FEDLEAK_TRACEBACK")
# What the server may load: our own attacks and what we depend on. A stranger's code runs in its attempt alone.
TRUSTED = frozenset({"fedleak", "flint", "gmpy2", "numpy", "pulp", "scipy", "sklearn", "torch"})
MAX_SENT_BYTES = 1 << 27  # of a view; a larger one never stands in memory as a whole
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}  # attempts use the other cores


@dataclass(frozen=True)
class Limits:
    """Of one attempt; None is no limit."""

    wall_seconds: float | None = None
    memory_bytes: int | None = None


class AttackFailedError(Exception):
    """An attack raised, crashed, or was ended. ``skipped``: it lacks something, which is no failure of its own."""

    def __init__(self, why: str, *, skipped: bool = False, trace: str = "") -> None:
        super().__init__(why)
        self.skipped = skipped
        self.trace = trace


class ChamberGoneError(AttackFailedError):
    """The process that holds the view is gone, before the attempt began."""


class Isolation:
    """A server of attack processes: a fresh interpreter, so nothing that is loaded here exists there."""

    def __init__(self, *, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        """``folder`` and ``environment``: where the server runs and what it is told; as little as possible if None."""
        self.views = Path(tempfile.mkdtemp(prefix="fedleak-views-"))
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._numbers = count()
        self.closed = False
        self._preloaded: set[str] = set()
        code = [os.path.abspath(path) for path in sys.path if os.path.isdir(path or ".")]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-B", "-m", "fedleak.trial.attack_process", str(theirs.fileno()), self.views, *code],
            cwd=folder or self.views,
            env={**self._told(code), **(environment or {})},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the audit, which then ends its attempts
        )
        theirs.close()

    def _told(self, code: Sequence[str]) -> dict[str, str]:
        """The server's environment. Packages learn from it to write nothing and to start nobody."""
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        alone = {"JOBLIB_MULTIPROCESSING": "0", "TORCHINDUCTOR_CACHE_DIR": str(self.views)}
        return {"PATH": "", "PYTHONPATH": os.pathsep.join(code), **alone, **ONE_THREAD, **kept}

    @property
    def alive(self) -> bool:
        return not self.closed and self._process.poll() is None

    def preload(self, attacks: Iterable[type[Attack]]) -> None:
        """Import them once, in the server, for all views to come. Does not wait for it."""
        with self._lock:
            wanted = [name for name in modules_of(attacks) if name not in self._preloaded]
            if wanted:
                wire = Wire(_passed_through(self._control, FOR_MODULES))
                wire.send(Kind.LOAD, json.dumps(wanted).encode())
                wire.close()
                self._preloaded.update(wanted)

    def chamber(self, view: View) -> Chamber:
        """A process that holds the view, for everybody who is in that place.

        What one of them knows beforehand another may not: that comes with each attempt.
        """
        place = self.views / f"{next(self._numbers):04d}"
        place.mkdir()
        try:
            with self._lock:
                loaded = frozenset(self._preloaded)
                wire = Wire(_passed_through(self._control, FOR_A_VIEW))
            chamber = Chamber(self, wire.connection, place, loaded)
            wire.send(Kind.LOAD, json.dumps(str(place)).encode())
            _hand_over(wire, replace(view, oracles={}, knowledge=Knowledge()), place)
            wire.receive()
        except (EOFError, OSError):
            shutil.rmtree(place, ignore_errors=True)
            raise ChamberGoneError("the server of attack processes is gone") from None
        return chamber

    def close(self) -> None:
        self.closed = True
        self._control.close()
        self._process.kill()  # it holds nothing worth saving, and the processes of views and attempts end with it
        self._process.wait()
        shutil.rmtree(self.views, ignore_errors=True)


def modules_of(attacks: Iterable[type[Attack]]) -> list[str]:
    """What they need loaded, as far as the server may load it."""
    names = (name for attack in attacks for name in (attack.__module__, *attack.preloads))
    return [name for name in dict.fromkeys(names) if name.partition(".")[0] in TRUSTED]


class Chamber:
    """Attempts on one coalition's view. Its process ends, and the view's folder goes, when nobody has it any more."""

    def __init__(self, isolation: Isolation, control: socket.socket, place: Path, loaded: frozenset[str]) -> None:
        self._isolation = isolation
        self._control = control
        self._loaded = loaded
        self._lock = threading.Lock()
        self._gone = False
        self.close = weakref.finalize(self, _release, control, place)

    def suits(self, attack: type[Attack]) -> bool:
        """Whether it can be asked, and has at hand what the attack imports: torch alone takes seconds."""
        return self._isolation.alive and not self._gone and self._loaded.issuperset(modules_of([attack]))

    def attempt(
        self,
        attack: Attack | type[Attack],
        view: View,
        *,
        rng: np.random.Generator,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Guess:
        """The guess of an attack on ``view``, whose messages and records are those that the chamber holds."""
        return self.timed_attempt(attack, view, rng=rng, limits=limits)[0]

    def timed_attempt(
        self, attack: Attack | type[Attack], view: View, *, rng: np.random.Generator, limits: Limits
    ) -> tuple[Guess, Spent | None]:
        """With what the attack itself took; None where it was ended before it had answered."""
        specs = {name: oracle.spec for name, oracle in view.oracles.items()}
        strict = any(action == "error" and category is Warning for action, _, category, _, _ in warnings.filters)
        known = (view.target, view.facts, view.knowledge)
        request = Request(described(attack), *known, specs, rng, limits.memory_bytes, strict)
        conversation = self._begun(view, limits)
        try:
            return conversation.guess(pickle.dumps(request)), conversation.spent
        finally:
            conversation.end()

    def _begun(self, view: View, limits: Limits) -> _Conversation:
        with self._lock, suppress(EOFError, OSError):
            wire = Wire(_passed_through(self._control, FOR_AN_ATTEMPT))
            try:
                return _Conversation(wire, view.oracles, limits)
            except (EOFError, OSError):
                wire.close()
        self._gone = True
        if self._isolation.closed:
            raise AttackFailedError("attacks were ended from outside")
        raise ChamberGoneError("the process that holds the view is gone")


class _Conversation:
    """With one attempt, from its start to its guess."""

    def __init__(self, wire: Wire, oracles: Mapping[str, Oracle], limits: Limits) -> None:
        _, number = wire.receive()
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
            raise AttackFailedError(message if skipped else _in_one_line(error, message), skipped=skipped, trace=trace)

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


def _in_one_line(error: str, message: str) -> str:
    """As ``in_one_line`` has it, of an error that is told and not here."""
    text = " ".join(message.split())
    return f"{error}: {text}" if text else error


def _passed_through(control: socket.socket, purpose: bytes) -> socket.socket:
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            socket.send_fds(control, [purpose], [theirs.fileno()])
    except OSError:
        ours.close()
        raise
    return ours


def _hand_over(wire: Wire, view: View, place: Path) -> None:
    """Through the connection; a large view through its folder, from where it is read as it is asked for."""
    records = {party: tuple(found) for party, found in view.locals.items()}
    if not wire.send_view(replace(view, messages=tuple(view.messages), locals=records), MAX_SENT_BYTES):
        save_view(view, place, overwrite=True)
        wire.send(Kind.LOAD, b"")


def _release(control: socket.socket, place: Path) -> None:
    control.close()
    shutil.rmtree(place, ignore_errors=True)


def can_isolate() -> bool:
    """Processes are forked, and connections passed to them, as Linux has it."""
    return all(hasattr(module, name) for module, name in ((os, "fork"), (os, "pidfd_open"), (socket, "send_fds")))


_SHARED: list[Isolation] = []
_SHARED_LOCK = threading.Lock()


def shared_isolation() -> Isolation:
    """One server for this process: it costs a second to start and nothing to keep."""
    with _SHARED_LOCK:
        if _SHARED and not _SHARED[0].alive:
            _SHARED.pop().close()
        if not _SHARED:
            _SHARED.append(Isolation())
        return _SHARED[0]


@atexit.register
def end_isolation() -> None:
    """End the server with all its attempts; the next one to ask gets a new one."""
    while _SHARED:
        _SHARED.pop().close()
