"""An attack whose own time is known from below: it waits, without computing. In a file of its own, to be pickled."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View


@dataclass(frozen=True)
class WaitingAttack(Attack):
    name = "waiting"
    summary = "waits, then says nothing"
    reference = Reference("fedleak", "tests")
    requires = frozenset()
    produces = SecretKind.FEATURES

    seconds: float
    lacks: str = ""

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        time.sleep(self.seconds)
        if self.lacks:
            raise MissingFromViewError(self.lacks)
        return Guess(view.target, Status.NOT_IDENTIFIABLE, np.zeros(0, dtype=np.int64), np.zeros((0, 1)), why="waited")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return Prediction(Verdict.UNKNOWN, ("it only waits",))
