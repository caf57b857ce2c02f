"""Long arithmetic on all cores: interpreters beside this one take shares of it.

Python runs one thread at a time, and a product of two residues is too short for gmpy2 to let another thread run, so
helpers are processes. They are fresh interpreters that load our code and nothing of the caller's: a script needs no
guard around its main part, and its threads and open files do not concern them. They are started when they are first
wanted, and ``dismiss`` ends them: ``play`` does after every run. One computation at a time has them; another one that
goes on meanwhile in a thread works alone. ``OMP_NUM_THREADS`` bounds them as it bounds the threads of other libraries:
whoever starts several processes side by side sets it to 1.
"""

from __future__ import annotations

import atexit
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeVar

ShareT = TypeVar("ShareT")
ResultT = TypeVar("ResultT")
SHARES_A_CORE = 4  # at most: who is done first takes the next
INTERRUPTED_SECONDS = 3.0  # that a helper has to tidy up
PIPE_BYTES = 1 << 20  # what is read at once: every read waits for the thread that computes here
_CALL = "from fedleak.crypto.cores import serve; serve({})"


def cores() -> int:
    """That this process may use."""
    if _chosen:
        return _chosen[-1]
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(there, int(allowed)) if allowed.isdecimal() and int(allowed) else there


@contextmanager
def using(n_cores: int) -> Iterator[None]:
    """Exactly so many for what is computed within, whatever the environment says: to measure, and to test."""
    _chosen.append(n_cores)
    dismiss()
    try:
        yield
    finally:
        dismiss()
        _chosen.pop()


def shares(n_items: int, least: int) -> list[slice]:
    """Parts of about equal size; all of it in one where there would be less than two of the ``least`` size a core."""
    n_parts = min(n_items // least, SHARES_A_CORE * cores())
    if cores() == 1 or n_parts < 2 * cores():
        return [slice(0, n_items)]
    edges = [n_items * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in pairwise(edges)]


def spread(work: Callable[[ShareT], ResultT], parts: Sequence[ShareT]) -> list[ResultT]:
    """``work`` of each part, in their order. ``work`` is a function or method of ours: helpers find it by its name."""
    if len(parts) < 2 or cores() == 1 or not _turn.acquire(blocking=False):
        return [work(part) for part in parts]
    try:
        return _together(work, parts)
    finally:
        _turn.release()


def side_by_side(work: Callable[[ShareT], ResultT], parts: Sequence[ShareT]) -> list[ResultT]:
    """In threads: for work that lets other threads run, as gmpy2 does within a list of powers."""
    if len(parts) < 2 or cores() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(len(parts), cores())) as pool:
        return list(pool.map(work, parts))


def hire() -> Helper:
    """For one user alone, until ``dismiss``."""
    helper = Helper()
    _hired.append(helper)
    return helper


def dismiss() -> None:
    """Helpers end; what they took counts from now on among this process's children."""
    with _turn:
        for helpers in (_helpers, _hired):
            while helpers:
                helpers.pop().end()


def _together(work: Callable[[ShareT], ResultT], parts: Sequence[ShareT]) -> list[ResultT]:
    waiting, done = deque(enumerate(parts)), dict[int, ResultT]()
    for helper in [helper for helper in _helpers if not helper.alive]:
        _helpers.remove(helper)
        helper.end()
    while len(_helpers) < cores() - 1:
        _helpers.append(Helper())
    threads = [threading.Thread(target=helper.take, args=(work, waiting, done), daemon=True) for helper in _helpers]
    try:
        for thread in threads:
            thread.start()
        _take(work, waiting, done)
        for thread in threads:
            thread.join()
        _take(work, waiting, done)  # what a helper that failed had taken
    except BaseException:  # Ctrl-C too: a helper in the middle of something is of no use for anything else
        waiting.clear()
        for helper in _helpers:
            helper.kill()
        raise
    return [done[place] for place in range(len(parts))]


def _take(work: Callable[[ShareT], ResultT], waiting: deque[tuple[int, ShareT]], done: dict[int, ResultT]) -> None:
    while (taken := _next(waiting)) is not None:
        place, part = taken
        done[place] = work(part)


def _next(waiting: deque[tuple[int, ShareT]]) -> tuple[int, ShareT] | None:
    """None where nothing is left: others take from it as well. What ``work`` raises is not caught with that."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


class Helper:
    """An interpreter that answers (work, part) with a result until its input ends: it ends with this process."""

    def __init__(self, *, loads: str = "") -> None:
        """``loads`` names a module that it imports while nobody asks it for anything yet."""
        known = os.pathsep.join(folder for folder in sys.path if folder)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CALL.format(repr(loads))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pipesize=PIPE_BYTES,
            env={**os.environ, "PYTHONPATH": known, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for this process
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def take(self, work: Callable[[ShareT], ResultT], waiting: deque[Any], done: dict[int, ResultT]) -> None:
        """Part after part. Where one fails, for whatever reason, it goes back: whoever computes it here sees why."""
        while (taken := _next(waiting)) is not None:
            place, part = taken
            try:
                self.ask(work, part)
                done[place] = self.answer()
            except Exception:
                waiting.appendleft((place, part))
                self.kill()
                return

    def ask(self, work: Callable[[ShareT], ResultT], part: ShareT) -> None:
        """One thing at a time: ``answer`` comes before the next."""
        assert self._process.stdin is not None
        self._process.stdin.write(pickle.dumps((work, part)))
        self._process.stdin.flush()

    @property
    def answered(self) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def answer(self) -> Any:
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)  # noqa: S301  (of a process that this one started)

    def end(self) -> None:
        with suppress(OSError):  # it is gone, and there is no one to tell
            self._process.communicate()

    def interrupt(self) -> None:
        """As Ctrl-C does, so that it takes with it what it began to write; it is gone afterwards in any case."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(INTERRUPTED_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self.end()

    def kill(self) -> None:
        self._process.kill()


def serve(loads: str) -> None:
    """What a helper does. An error ends it: its part is computed again where somebody can see the error."""
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    if loads:
        import_module(loads)
    with suppress(EOFError, BrokenPipeError):
        while True:
            work, part = pickle.load(asked)  # noqa: S301  (of the process that started this one)
            answers.write(pickle.dumps(work(part)))
            answers.flush()


_helpers: list[Helper] = []
_hired: list[Helper] = []
_chosen: list[int] = []
_turn = threading.Lock()
atexit.register(dismiss)
if hasattr(os, "register_at_fork"):
    for of_the_parent in (_helpers, _hired):
        os.register_at_fork(after_in_child=of_the_parent.clear)
