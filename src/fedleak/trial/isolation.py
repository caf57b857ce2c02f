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
import socket
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from fedleak.core.attack import Attack, Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.view import View
from fedleak.storage.own_folder import OwnFolder
from fedleak.storage.view_and_guess import save_view
from fedleak.trial.attack_process import (
    FOR_A_BOUNDED_ATTEMPT,
    FOR_A_VIEW,
    FOR_AN_ATTEMPT,
    FOR_MODULES,
    STORED_VIEW,
)
from fedleak.trial.code_places import Need, needs_of, search_path
from fedleak.trial.conversation import AttackFailedError, Conversation, Limits
from fedleak.trial.spent import Spent, note_apart
from fedleak.trial.wire import Kind, Request, Wire, described

VIEWS = "fedleak-views-"
ENDED_FIRST = "1000"
# Which kernels do the arithmetic: with others, the last bits of a guess would not be those of this process.
KERNELS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "NPY_DISABLE_CPU_FEATURES")
KEPT_VARIABLES = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "FEDLEAK_TRACEBACK", *KERNELS)
MAX_SENT_BYTES = 1 << 27  # of a view; a larger one never stands in memory as a whole
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}  # attempts use the other cores


class ChamberGoneError(AttackFailedError):
    """The process that holds the view is gone, before the attempt began."""


class Isolation:
    """A server of attack processes: a fresh interpreter, so nothing that is loaded here exists there."""

    def __init__(self, *, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        """``folder`` and ``environment``: where the server runs and what it is told; as little as possible if None."""
        self._folder = OwnFolder(VIEWS)
        self.views = self._folder.path
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._numbers = count()
        self.closed = False
        code = search_path()
        self._met: set[tuple[Need, str]] = {(Need.FOLDER, folder) for folder in code}
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
        with suppress(OSError):  # where memory runs out, an attack is ended before the audit
            Path(f"/proc/{self._process.pid}/oom_score_adj").write_text(ENDED_FIRST, encoding="ascii")

    def _told(self, code: Sequence[str]) -> dict[str, str]:
        """The server's environment. Packages learn from it to write nothing and to start nobody."""
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        alone = {"JOBLIB_MULTIPROCESSING": "0", "TORCHINDUCTOR_CACHE_DIR": str(self.views)}
        return {"PATH": "", "PYTHONPATH": os.pathsep.join(code), **alone, **ONE_THREAD, **kept}

    @property
    def alive(self) -> bool:
        return not self.closed and self._process.poll() is None

    def preload(self, attacks: Iterable[type[Attack]]) -> None:
        """For all views to come, the server imports them once and learns where their code lies. Does not wait."""
        with self._lock:
            wanted = [need for need in needs_of(attacks) if need not in self._met]
            if wanted:
                wire = Wire(_passed_through(self._control, FOR_MODULES))
                wire.send(Kind.LOAD, json.dumps(wanted).encode())
                wire.close()
                self._met.update(wanted)

    def chamber(self, view: View) -> Chamber:
        """A process that holds the view, for everybody who is in that place.

        What one of them knows beforehand another may not: that comes with each attempt.
        """
        place = self.views / f"{next(self._numbers):04d}"
        place.mkdir()
        try:
            with self._lock:
                met = frozenset(self._met)
                wire = Wire(_passed_through(self._control, FOR_A_VIEW))
            chamber = Chamber(self, wire.connection, place, met)
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
        self._folder.remove()


class Chamber:
    """Attempts on one coalition's view. Its process ends, and the view's folder goes, when nobody has it any more."""

    def __init__(
        self, isolation: Isolation, control: socket.socket, place: Path, met: frozenset[tuple[Need, str]]
    ) -> None:
        self._isolation = isolation
        self._control = control
        self._met = met
        self._lock = threading.Lock()
        self._gone = False
        self.close = weakref.finalize(self, _release, control, place)

    def suits(self, attack: type[Attack]) -> bool:
        """Whether it can be asked, and may read and has at hand what the attack imports: torch alone takes seconds."""
        return self._isolation.alive and not self._gone and self._met.issuperset(needs_of([attack]))

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
        conversation = self._begun(view, limits)
        try:
            request = Request(described(attack), *known, specs, rng, conversation.address_limit, strict)
            return conversation.guess(pickle.dumps(request)), conversation.spent
        finally:
            note_apart(conversation.spent)
            conversation.end()

    def _begun(self, view: View, limits: Limits) -> Conversation:
        with self._lock, suppress(EOFError, OSError):
            purpose = FOR_AN_ATTEMPT if limits.memory_bytes is None else FOR_A_BOUNDED_ATTEMPT
            wire = Wire(_passed_through(self._control, purpose))
            try:
                return Conversation(wire, view.oracles, limits)
            except (EOFError, OSError):
                wire.close()
        self._gone = True
        if self._isolation.closed:
            raise AttackFailedError("attacks were ended from outside")
        raise ChamberGoneError("the process that holds the view is gone")


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
    """Through the connection; a large view through its folder, entry by entry, from where it is read as asked for."""
    if not wire.send_view(view, MAX_SENT_BYTES):
        save_view(view, place / STORED_VIEW)  # inside: the process is already confined to the folder that it was told
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
