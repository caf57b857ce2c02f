"""Runs that other processes train while the audit works on those before them: what they send is long arithmetic.

Everything that a run draws follows from the run key, so it is the same run wherever it is trained. A run that such a
process cannot train, for whatever reason, is trained by the audit itself, where somebody sees why.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import cast

from fedleak.auditing.estimate import n_ciphertexts
from fedleak.auditing.planner import PlannedRun
from fedleak.auditing.trainings import Place, StoredTraining
from fedleak.crypto.cores import Helper
from fedleak.trial.play import Played

LEAST_CIPHERTEXTS = 2_000  # that are worth a process: 2 s at 2048 bits, where it takes half a second to start


def is_long(planned: PlannedRun) -> bool:
    return n_ciphertexts(planned) >= LEAST_CIPHERTEXTS


class Standby:
    """Processes that load what training takes while the audit is still read and planned."""

    def __init__(self, n_processes: int) -> None:
        self._helpers = [_helper() for _ in range(n_processes)]

    def __enter__(self) -> Standby:
        return self

    def __exit__(self, *_: object) -> None:
        """Those that nobody took have nothing to tidy up."""
        for helper in self._helpers:
            helper.kill()
            helper.end()

    def taken(self, n_processes: int) -> list[Helper]:
        found = [self._helpers.pop() for _ in range(min(n_processes, len(self._helpers)))]
        return found + [_helper() for _ in range(n_processes - len(found))]


def _helper() -> Helper:
    return Helper(loads=__name__)


class RunsAhead:
    """Trainings, each taken by a process that is free; ``taken`` gives one back when its turn comes.

    Cores that the processes leave free, attempts of attacks may have: ``one_core``.
    """

    def __init__(
        self,
        places: Iterable[Place],
        training_for: Callable[[Place], StoredTraining],
        *,
        n_processes: int,
        n_attempts: int,
        standby: Standby | None = None,
    ) -> None:
        """``places`` are in the order in which they are wanted. ``n_attempts``: at once where no process trains."""
        self._waiting = deque(places)
        self._training_for = training_for
        self._most_attempts = n_attempts
        self._running: set[Place] = set()
        self._trained: dict[Place, Played] = {}
        self._n_attempts = 0
        self._changed = threading.Condition()
        self._helpers = (standby or Standby(0)).taken(min(n_processes, len({run for run, _ in self._waiting})))
        self._n_working = len(self._helpers)
        for helper in self._helpers:
            threading.Thread(target=self._work, args=(helper,), daemon=True).start()

    def __enter__(self) -> RunsAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._waiting.clear()
        for helper in self._helpers:
            helper.interrupt()  # what it wrote goes with it

    @property
    def n_busy(self) -> int:
        """Processes that train just now, or are about to."""
        with self._changed:
            return min(self._n_working, len(self._running) + len(self._waiting))

    def is_begun(self, place: Place) -> bool:
        with self._changed:
            return place in self._running or place in self._trained

    @contextmanager
    def one_core(self) -> Iterator[None]:
        """Waits until a core is free; there is always one for somebody."""
        with self._changed:
            self._changed.wait_for(lambda: self._n_attempts < max(1, self._most_attempts - self.n_busy))
            self._n_attempts += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_attempts -= 1
                self._changed.notify_all()

    def taken(self, place: Place, seconds_left: Callable[[], float | None]) -> Played | None:
        """None where nobody has trained it, and nobody will. ``seconds_left`` raises once there are none."""
        with self._changed:
            if place in self._waiting:
                self._waiting.remove(place)
            while place in self._running:
                self._changed.wait(seconds_left())
            return self._trained.pop(place, None)

    def _work(self, helper: Helper) -> None:
        """Until nothing waits, or the process fails: whatever it was, the audit meets it again and tells."""
        while (place := self._next()) is not None:
            played = self._asked(helper, place)
            with self._changed:
                self._running.discard(place)
                if played is not None:
                    self._trained[place] = played
                self._changed.notify_all()
            if played is None:
                break
        with self._changed:
            self._n_working -= 1
            self._changed.notify_all()

    def _next(self) -> Place | None:
        with self._changed:
            if not self._waiting:
                return None
            self._running.add(self._waiting[0])
            return self._waiting.popleft()

    def _asked(self, helper: Helper, place: Place) -> Played | None:
        try:
            helper.ask(StoredTraining.train, self._training_for(place))
            return cast("Played", helper.answer())
        except Exception:
            return None
