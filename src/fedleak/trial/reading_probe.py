"""An attack that reads every message of its view once, claims nothing, and tells what the reading took.

How views stream is measured with it where attacks run. It stands here because that process imports no bench.
"""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import AnyArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Payload, Tree
from fedleak.core.transcript import Message
from fedleak.core.view import View


@dataclass
class Tally:
    """Of what was read; ``total`` is the sum of all numbers, which only who has seen each of them can tell."""

    n_messages: int = 0
    n_bytes: int = 0
    total: float = 0.0

    def add(self, message: Message) -> None:
        self.n_messages += 1
        for values in _arrays(message.payload):
            self.n_bytes += values.nbytes
            self.total += float(values.sum(dtype=np.float64))


def tally(messages: Iterable[Message]) -> Tally:
    found = Tally()
    for message in messages:
        found.add(message)
    return found


def _arrays(payload: Payload) -> Iterator[AnyArray]:
    match payload:
        case Array(values):
            yield values
        case Tree(items):
            for item in items.values():
                yield from _arrays(item)


class ReadingProbe(Attack):
    name = "reading-probe"
    summary = "reads every message of its view once, and claims nothing"
    reference = Reference("fedleak", "")
    requires: ClassVar[frozenset[Capability]] = frozenset()
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = tally(view.messages)
        # A forked process begins with what it shares with its parent, so this is the attempt's own peak.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        evidence = {**vars(found), "peak_bytes": peak}
        nothing = np.empty((0, 1))
        return Guess(view.target, Status.UNDETERMINED, np.empty(0, dtype=np.int64), nothing, evidence=evidence)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return Prediction(Verdict.IMPOSSIBLE, ("it claims nothing",))
