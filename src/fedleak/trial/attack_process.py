"""Where attacks run: a server that never sees data, a process for each view, and a fork of that for each attempt.

The server is a fresh interpreter. It shuts itself off, imports the attacks, and waits. For each view it forks a
process that loads the view and holds it, without running any attack; every attempt is a fork of that one, so it finds
the view loaded, its packages imported, nothing else in its memory, and leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy.random  # noqa: F401  (every request brings a generator, and numpy loads this when it is first used)

from fedleak.core import errors
from fedleak.core.attack import Attack, Guess
from fedleak.core.errors import FedleakError, OracleError
from fedleak.core.oracle import Answer, Exchange, Oracle, OracleSpec
from fedleak.core.payload import Payload
from fedleak.core.view import View
from fedleak.storage.view_and_guess import guess_to_bytes, load_view, payload_to_bytes
from fedleak.trial.blas_memory import take_blas_memory
from fedleak.trial.code_places import Need
from fedleak.trial.shut_off import shut_off_attempt, shut_off_process, shut_off_view
from fedleak.trial.spent import Spent, timed_run
from fedleak.trial.wire import Kind, Request, Wire

# What a connection that is passed on is for
FOR_A_VIEW, FOR_MODULES, FOR_AN_ATTEMPT, FOR_A_BOUNDED_ATTEMPT = b"V", b"M", b"A", b"B"
STORED_VIEW = "view"  # in the folder of a process, where its view is too large to be sent
MAX_TRACE_CHARS = 20_000
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def main(control: int, views: Path, code: list[Path]) -> None:
    server = socket.socket(fileno=control)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes: they vanish by themselves
    del sys.argv[1:], sys.orig_argv[1:]  # where things lie is nothing that an attack is told
    shut_off_process(views, code)
    for what, connection in _connections(server):
        if what == FOR_MODULES:
            _meet(Wire(connection), code)
        elif _forked(leaving=server):
            _then_exit(_hold, connection, views, code)
        connection.close()


def _connections(control: socket.socket) -> Iterator[tuple[bytes, socket.socket]]:
    """Connections as they are passed on, until the other end is gone."""
    while True:
        what, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not what:
            return
        yield what, socket.socket(fileno=descriptors[0])


def _forked(*, leaving: socket.socket) -> bool:
    """True in the new process: it ends with its parent, and has no way to whom the parent listens."""
    if os.fork():
        return False
    end_with_parent()
    leaving.close()
    return True


def end_with_parent() -> None:
    """Also where the parent is killed."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _then_exit(work: Callable[..., None], *arguments: object) -> None:
    """No way back into the code of the parent, whatever happens."""
    status = 1
    try:
        work(*arguments)
        status = 0
    except (EOFError, ConnectionError):  # the audit is gone, or has no use for it any more
        pass
    except Exception as error:  # an attack's is told on the wire; this is a defect of ours
        traceback.print_exception(error)
    finally:
        os._exit(status)


def _meet(wire: Wire, code: list[Path]) -> None:
    """What attacks to come need: places that code may be read from, and modules."""
    _, body = wire.receive()
    for need, value in json.loads(body):
        if need == Need.MODULE:
            with suppress(Exception):  # the attempt that needs it meets the same error, and tells it
                importlib.import_module(value)
            continue
        code.append(Path(value).resolve())
        if need == Need.FOLDER:
            sys.path.append(value)


def _hold(connection: socket.socket, views: Path, code: Sequence[Path]) -> None:
    wire = Wire(connection)
    _, body = wire.receive()
    place = Path(json.loads(body))
    shut_off_view(place, views, code)
    kind, frame = wire.receive()
    view = wire.received_view(frame) if kind is Kind.VIEW else load_view(place / STORED_VIEW)
    wire.send(Kind.READY)
    for what, attempt in _connections(connection):
        if _forked(leaving=connection):
            _then_exit(_bounded_attempt if what == FOR_A_BOUNDED_ATTEMPT else _attempt, Wire(attempt), view)
        attempt.close()


def _bounded_attempt(wire: Wire, view: View) -> None:
    take_blas_memory()  # a fork gives back what was taken before it
    _attempt(wire, view)


def _attempt(wire: Wire, view: View) -> None:
    wire.send(Kind.STARTED, str(os.getpid()).encode())  # before any code of the attack's: this number is believed
    _, body = wire.receive()
    try:
        shut_off_attempt()  # before the request is read: that may import the attack
        request = pickle.loads(body)  # noqa: S301  (from the audit, which the attack is not)
        assert isinstance(request, Request)
        guess, spent = _guess(request, view, wire)
        wire.send(Kind.SPENT, spent.to_bytes())
        wire.send(Kind.GUESS, guess_to_bytes(guess))
    except BaseException as error:
        wire.send(Kind.FAILURE, _told(error))


def _guess(request: Request, base: View, wire: Wire) -> tuple[Guess, Spent]:
    if request.memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (request.memory_bytes, request.memory_bytes))
    if request.strict_warnings:
        warnings.simplefilter("error")
    oracles = {name: AskedOracle(spec, name, wire) for name, spec in request.oracles.items()}
    view = replace(base, target=request.target, facts=request.facts, knowledge=request.knowledge, oracles=oracles)
    attack: Attack = request.attack.made()
    attack.heard_by(lambda guess: wire.send(Kind.INTERIM, guess_to_bytes(guess)))
    return timed_run(attack, view, request.rng)


def _told(error: BaseException) -> bytes:
    trace = "".join(traceback.format_exception(error))[-MAX_TRACE_CHARS:]
    told = {"error": type(error).__name__, "message": str(error)[:MAX_TRACE_CHARS], "trace": trace}
    return json.dumps(told | {"skipped": isinstance(error, errors.LACKING)}).encode()


class AskedOracle(Oracle):
    """The audit asks the service, counts and keeps the log; what this attempt asked, it has in its own memory."""

    def __init__(self, spec: OracleSpec, name: str, wire: Wire) -> None:
        self.spec = spec
        self._name = name
        self._wire = wire
        self._log: list[Exchange] = []

    def query(self, batch: Payload) -> Answer:
        self._wire.send(Kind.QUERY, self._name.encode() + b"\n" + payload_to_bytes(batch))
        kind, body = self._wire.receive()
        if kind is Kind.REFUSAL:
            refused = json.loads(body)
            raise _refusal(refused["error"])(refused["message"])
        answer = pickle.loads(body)  # noqa: S301  (from the audit)
        assert isinstance(answer, Answer)
        self._log.append(Exchange(batch, answer))
        return answer

    @property
    def log(self) -> tuple[Exchange, ...]:
        return tuple(self._log)


def _refusal(name: str) -> type[FedleakError]:
    found = getattr(errors, name, OracleError)
    return found if isinstance(found, type) and issubclass(found, FedleakError) else OracleError


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), [Path(folder).resolve() for folder in sys.argv[3:]])
