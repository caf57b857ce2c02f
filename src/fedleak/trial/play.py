"""Run a protocol, and put attacks in the place of who took part: the only place where a protocol is run."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedleak.core.adversary import Secret
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess
from fedleak.core.errors import LACKING, in_one_line, show_traceback
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense, Deviation, Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured, MemorySink, Run, Sink
from fedleak.crypto.cores import dismiss
from fedleak.protocols import PROTOCOLS
from fedleak.storage.view_and_guess import guess_from_bytes, guess_to_bytes
from fedleak.trial.attempt import Attempt, Failure, scored
from fedleak.trial.conversation import AttackFailedError, Limits
from fedleak.trial.isolation import Chamber, ChamberGoneError, can_isolate, end_isolation, shared_isolation
from fedleak.trial.spent import Spent, timed_run

NO_LIMITS = Limits()
Answer = tuple[Guess | Failure, Spent | None]


@dataclass(frozen=True, eq=False)
class Played:
    """A run that took place, with everything that was public about it."""

    federation: Federation  # as the defense configures it
    protocol: Protocol  # that ran it
    run: Run
    randomness: Randomness  # never part of a view
    seconds: float
    canaries: Mapping[Secret, IntArray] = field(default_factory=dict)  # rows whose labels were redrawn for this run
    _chambers: dict[tuple[str, ...], Chamber] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def __reduce__(self) -> tuple[type[Played], tuple[object, ...]]:
        """Processes of attacks stay where they were started: elsewhere, others are."""
        return Played, (self.federation, self.protocol, self.run, self.randomness, self.seconds, dict(self.canaries))

    @property
    def facts(self) -> Facts:
        """Public, with what the defense declares of itself."""
        return self.run.transcript.facts

    def seen_by(self, coalition: tuple[str, ...], knowledge: Knowledge | None = None) -> Facts:
        """The public facts, with what this coalition has to work with."""
        revealed = self.protocol.reveals(self.federation.settings, self.facts.parties, coalition)
        return self.facts.seen_by(coalition, revealed | (knowledge or Knowledge()).capabilities)

    def view(self, coalition: tuple[str, ...], target: Secret, knowledge: Knowledge | None = None) -> View:
        """What the coalition sees."""
        return self.run.view(coalition, target, self.seen_by(coalition, knowledge), knowledge=knowledge)

    def recorded_as(self, captured: Captured) -> Played:
        """The same run as whoever recorded only a part of it has it."""
        run = replace(self.run, transcript=captured.transcript, locals=captured.locals)
        return Played(self.federation, self.protocol, run, self.randomness, self.seconds, dict(self.canaries))

    def attempt(
        self,
        attack: Attack | type[Attack],
        coalition: tuple[str, ...],
        target: Secret,
        knowledge: Knowledge | None = None,
        *,
        scores: bool = True,
        brief: bool = False,
        repeat: int = 0,
        limits: Limits = NO_LIMITS,
        isolated: bool = True,
    ) -> Attempt:
        """One attack on what the coalition saw, in a process of its own.

        ``scores`` False leaves the truth alone; ``brief`` scores what decides, without what a report tells beside it.
        ``repeat`` numbers attempts that differ in the attack's own draws.
        ``isolated`` False runs it right here, for a debugger.
        """
        kind = attack if isinstance(attack, type) else type(attack)
        view = self.view(coalition, target, knowledge)
        rng = self.randomness.attack(kind.name, coalition, str(target), repeat)
        known = view.knowledge  # as declared: in this process an attack could put something else there
        apart = isolated and can_isolate()
        began = time.perf_counter()
        result, spent = self._answer(attack, view, rng, limits) if apart else _answer_here(attack, view, rng)
        seconds = time.perf_counter() - began
        if isinstance(result, Guess) and result.secret != target:
            result = Failure(f"{kind.name} must answer about {target}; it answered about {result.secret}")
        found = Attempt(kind, coalition, target, known, result, seconds, apart, spent=spent)
        if not scores:
            return found
        canaries = self.canaries.get(target)
        return scored(found, self.run.truth, self.randomness.public("bootstrap"), canaries, brief=brief)

    def _answer(self, attack: Attack | type[Attack], view: View, rng: np.random.Generator, limits: Limits) -> Answer:
        kind = attack if isinstance(attack, type) else type(attack)
        try:
            try:
                return self._chamber(view, kind).timed_attempt(attack, view, rng=rng, limits=limits)
            except ChamberGoneError:  # an attack ended it, or the system: no reason for the others to fail
                return self._chamber(view, kind).timed_attempt(attack, view, rng=rng, limits=limits)
        except AttackFailedError as error:
            if not error.skipped:
                show_traceback(error)
            return Failure(str(error), error.skipped), None

    def _chamber(self, view: View, attack: type[Attack]) -> Chamber:
        """One process holds what a coalition saw, for all its attempts."""
        with self._lock:
            self._refuse_if_over()
            isolation = shared_isolation()
            self._refuse_if_over()  # or this one is new, and nobody would end it
            isolation.preload([attack])
            held = self._chambers.get(view.coalition)
            if held is None or not held.suits(attack):
                held = self._chambers[view.coalition] = isolation.chamber(view)
            return held

    def end(self) -> None:
        """Attempts that run are ended, and none begins any more, whichever thread is just about to."""
        self._over.set()
        end_isolation()

    def _refuse_if_over(self) -> None:
        if self._over.is_set():
            raise AttackFailedError("attacks were ended from outside")


def _answer_here(attack: Attack | type[Attack], view: View, rng: np.random.Generator) -> Answer:
    """Beside everything that this process holds; the guess is still read from its bytes."""
    try:
        guess, spent = timed_run(attack() if isinstance(attack, type) else attack, view, rng)
        return guess_from_bytes(guess_to_bytes(guess)), spent
    except LACKING as error:
        return Failure(str(error), skipped=True), None
    except Exception as error:
        show_traceback(error)
        return Failure(in_one_line(error)), None


def play(
    federation: Federation,
    randomness: Randomness,
    *,
    defense: Defense | None = None,
    deviation: Deviation | None = None,
    deviating: str | None = None,
    protocol: Protocol | None = None,
    sink: Sink | None = None,
) -> Played:
    """Run a federation under a defense, with one party that deviates if any does.

    ``federation`` is as it is without the defense. ``protocol`` runs in place of the registered one of that name: one
    that serves an object, for instance. Without a sink the run stays in memory.
    """
    configured = defense.configure(federation) if defense else federation
    runner = protocol or PROTOCOLS.get(federation.protocol)()
    hooks: tuple[Hook[Any], ...] = defense.hooks(configured) if defense else ()
    if deviation is not None and deviating is not None:
        hooks += deviation.hooks(deviating)
    facts = runner.public_facts(configured, defense, parties=configured.party_facts, n_rows=configured.n_rows)
    taken = MemorySink() if sink is None else sink
    began = time.perf_counter()
    try:
        run = runner.run(configured, facts=facts, randomness=randomness, hooks=hooks, sink=taken)
    finally:
        dismiss()  # the cores are the attacks' now
    return Played(configured, runner, run, randomness, time.perf_counter() - began)
