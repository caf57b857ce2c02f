"""What it takes to train the runs of a plan, each as often as findings are decided on: here, or in another process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from fedleak.auditing.planner import PlannedRun, under_ideal_cipher
from fedleak.core.adversary import Secret
from fedleak.core.arrays import IntArray
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import MemorySink, Sink
from fedleak.storage.capture_and_truth import TemporarySink
from fedleak.trial.attack_process import end_with_parent
from fedleak.trial.canaries import redraw
from fedleak.trial.play import Played, play

MAX_FOLDER_CHARS = 100
MOST_HELD_BYTES = 64 << 20  # of the parties' tables, of a run that stays in memory with all its messages
SinkFactory = Callable[[str], Sink]
Place = tuple[int, int]  # of a run in the plan, and which of its runs: the first, 0, or a further one


@dataclass(frozen=True, eq=False)
class Training:
    """All that it takes to train a planned run: data, what is drawn, and where messages go."""

    planned: PlannedRun
    randomness: Randomness
    protocol: Protocol | None  # in place of the registered one

    def beside_others(self) -> Played:
        """Several are kept at once: large ones in folders that go with what is read from them."""
        held = sum(party.train.features.nbytes for party in self.planned.federation.parties)
        with TemporarySink() if held > MOST_HELD_BYTES else MemorySink() as sink:
            return self.into(sink)

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


@dataclass(frozen=True, eq=False)
class Trainings:
    """The first run of each place is as it was planned; further ones have labels redrawn and the ideal cipher."""

    runs: Sequence[PlannedRun]
    randomness: Randomness
    protocol: Protocol | None
    sink_for: SinkFactory
    repeats: int

    def stored(self, place: Place) -> StoredTraining:
        planned, number = self.runs[place[0]], place[1]
        if number:
            return StoredTraining(self.further(place)[0], in_memory, "")
        return StoredTraining(self._training(planned), self.sink_for, folder_name(planned.name))

    def further(self, place: Place) -> tuple[Training, Mapping[Secret, IntArray]]:
        """Under the ideal cipher, with some labels redrawn where labels are to be found, and which those are."""
        planned, number = self.runs[place[0]], place[1]
        targets = dict.fromkeys(task.target for task in planned.tasks if task.skip is None)
        drawn = redraw(planned.federation, targets, self.randomness, number=number, n_runs=self.repeats - 1)
        ideal = under_ideal_cipher(replace(planned, federation=drawn.federation))
        return self._training(ideal, number), drawn.ids

    def _training(self, planned: PlannedRun, number: int = 0) -> Training:
        """The same randomness for every plan: runs of one number differ by defense and deviation, not by luck."""
        return Training(planned, self.randomness.again(number), self.protocol)
