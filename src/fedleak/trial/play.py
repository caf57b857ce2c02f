"""Run a protocol, and put attacks in the place of who took part: the only place where a protocol is run."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np

from fedleak.core.adversary import Secret
from fedleak.core.attack import Attack, Guess
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Run
from fedleak.protocols import PROTOCOLS
from fedleak.trial.attempt import Attempt, Failure, scored
from fedleak.trial.isolation import AttackFailedError, Chamber, Limits, can_isolate, shared_isolation

NO_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Played:
    """A run that took place, with everything that was public about it."""

    federation: Federation  # as the defense configures it
    run: Run
    facts: Facts  # public, with what the defense declares of itself
    seconds: float
    _chambers: dict[tuple[str, ...], Chamber] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def seen_by(self, coalition: tuple[str, ...]) -> Facts:
        """The public facts, with what this coalition has to work with."""
        protocol = PROTOCOLS.get(self.federation.protocol)
        return self.facts.seen_by(coalition, protocol.reveals(self.federation.settings, self.facts.parties, coalition))

    def view(
        self,
        coalition: tuple[str, ...],
        target: Secret,
        knowledge: Knowledge | None = None,
        *,
        facts: Facts | None = None,
    ) -> View:
        """What the coalition sees. ``facts`` in place of its own, where a plan has them already."""
        return self.run.view(coalition, target, facts or self.seen_by(coalition), knowledge=knowledge)

    def attempt(
        self,
        attack: Attack | type[Attack],
        coalition: tuple[str, ...],
        target: Secret,
        knowledge: Knowledge | None = None,
        *,
        rng: np.random.Generator,
        bootstrap: np.random.Generator | None = None,
        facts: Facts | None = None,
        limits: Limits = NO_LIMITS,
        isolated: bool = True,
    ) -> Attempt:
        """One attack on what the coalition saw, in a process of its own. ``bootstrap``: score it, with this randomness.

        ``isolated`` False runs it right here, for a debugger.
        """
        chosen = attack() if isinstance(attack, type) else attack
        view = self.view(coalition, target, knowledge, facts=facts)
        apart = isolated and can_isolate()
        began = time.perf_counter()
        result = self._answer(chosen, view, rng, limits) if apart else _answer_here(chosen, view, rng)
        seconds = time.perf_counter() - began
        if isinstance(result, Guess) and result.secret != target:
            result = Failure(f"{chosen.name} must answer about {target}; it answered about {result.secret}")
        found = Attempt(type(chosen), coalition, target, view.knowledge, result, seconds, apart)
        return found if bootstrap is None else scored(found, self.run.truth, bootstrap)

    def _answer(self, attack: Attack, view: View, rng: np.random.Generator, limits: Limits) -> Guess | Failure:
        try:
            return self._chamber(view).attempt(attack, view, rng=rng, limits=limits)
        except AttackFailedError as error:
            return Failure(str(error), error.skipped)

    def _chamber(self, view: View) -> Chamber:
        """One process holds what a coalition saw, for all its attempts."""
        with self._lock:
            if view.coalition not in self._chambers:
                self._chambers[view.coalition] = shared_isolation().chamber(view)
            return self._chambers[view.coalition]
