"""Runs that other processes train while the audit works on those before them: what they send is long arithmetic.

Everything that a run draws follows from the run key, so it is the same run wherever it is trained. A run that such a
process cannot train, for whatever reason, is trained by the audit itself, where somebody sees why.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import cast

from fedleak.auditing.estimate import work_of
from fedleak.auditing.planner import PlannedRun
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import MemorySink, Sink
from fedleak.crypto.cores import Helper
from fedleak.trial.attack_process import end_with_parent
from fedleak.trial.play import Played, play

LEAST_CIPHERTEXTS = 2_000  # that are worth a process: 2 s at 2048 bits, where it takes half a second to start
MAX_FOLDER_CHARS = 100
SinkFactory = Callable[[str], Sink]


@dataclass(frozen=True, eq=False)
class Training:
    """All that it takes to train a planned run: data, what is drawn, and where messages go."""

    planned: PlannedRun
    randomness: Randomness
    protocol: Protocol | None  # in place of the registered one

    def into(self, sink: Sink) -> Played:
        planned = self.planned
        return play(
            planned.federation,
            self.randomness,
            defense=planned.defense,
            deviation=planned.dishonest,
            deviating=planned.deviating,
            protocol=self.protocol,
            sink=sink,
        )


@dataclass(frozen=True, eq=False)
class StoredTraining:
    """A training with the place for its messages, as another process gets it."""

    training: Training
    sink_for: SinkFactory
    folder: str

    @property
    def sink(self) -> Sink:
        return self.sink_for(self.folder)

    def train(self) -> Played:
        """In a process beside the audit's."""
        end_with_parent()
        with self.sink as sink:
            return self.training.into(sink)


def folder_name(name: str) -> str:
    """For a transcript: names of parties come into a run's name, with slashes or at any length."""
    safe = re.sub(r"[^\w()=., '-]", "_", name, flags=re.ASCII)[:MAX_FOLDER_CHARS]
    return safe if safe == name else f"{safe}-{sha256(name.encode()).hexdigest()[:8]}"


def in_memory(_: str) -> Sink:
    """For audits that keep no transcript."""
    return MemorySink()


def is_long(planned: PlannedRun) -> bool:
    """Enough ciphertexts under the real cipher."""
    made = work_of([planned], repeats=1).real
    return made.encryptions + made.rerandomisations + made.decryptions >= LEAST_CIPHERTEXTS


class RunsAhead:
    """Trainings by their place, each taken by a process that is free; ``taken`` gives one back when its turn comes."""

    def __init__(self, trainings: Mapping[int, StoredTraining], n_processes: int) -> None:
        self._trainings = trainings
        self._waiting = deque(sorted(trainings))
        self._running: set[int] = set()
        self._trained: dict[int, Played] = {}
        self._changed = threading.Condition()
        self._helpers = [Helper() for _ in range(min(n_processes, len(trainings)))]
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
            return min(len(self._helpers), len(self._running) + len(self._waiting))

    def is_begun(self, place: int) -> bool:
        with self._changed:
            return place in self._running or place in self._trained

    def taken(self, place: int, seconds_left: Callable[[], float | None]) -> Played | None:
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
                return

    def _next(self) -> int | None:
        with self._changed:
            if not self._waiting:
                return None
            self._running.add(self._waiting[0])
            return self._waiting.popleft()

    def _asked(self, helper: Helper, place: int) -> Played | None:
        try:
            helper.ask(StoredTraining.train, self._trainings[place])
            return cast("Played", helper.answer())
        except Exception:
            return None
