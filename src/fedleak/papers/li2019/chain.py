"""From rows to a guess, all the way: a real federation, its transcript, one party's view, the attack, the score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Guess
from fedleak.core.finding import Score
from fedleak.core.knowledge import Knowledge
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import MemorySink, Run
from fedleak.metrics import metrics_for
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.trial.randomness import stream

CURIOUS, VICTIM, SERVER = "curious", "victim", "server"


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and 0/1 labels."""

    features: FloatArray
    labels: IntArray

    def part(self, positions: IntArray) -> Rows:
        return Rows(self.features[positions], self.labels[positions])


def coin_rows(m: int, d: int, seed: int, purpose: str) -> Rows:
    rng = stream(seed, "li2019", purpose, str(m), str(d))
    return Rows(rng.integers(0, 2, (m, d)).astype(np.float64), rng.integers(0, 2, m))


def two_parties(
    curious: Rows, victim: Rows, settings: HorizontalLogisticSettings, test: Rows | None = None
) -> Federation:
    """The curious party and the victim; ``test`` rows, if any, measure the model."""
    parties = [_party(CURIOUS, curious, 0, test), _party(VICTIM, victim, 1_000_000, None)]
    server = Party(SERVER, Role.SERVER, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0))))
    return Federation("horizontal-logistic", (*parties, server), settings)


def run(federation: Federation, seed: int, defense: Defense | None = None) -> Run:
    configured = defense.configure(federation) if defense else federation
    hooks = defense.hooks(configured) if defense else ()
    protocol = PROTOCOLS.get(federation.protocol)()
    return protocol.run(configured, rng=stream(seed, "protocol"), hooks=hooks, sink=MemorySink())


def attack(result: Run, name: str, seed: int, defense: Defense | None = None) -> Guess:
    """The curious party's guess; a defense's method is public."""
    plugin = ATTACKS.get(name)
    facts = defense.declare(result.transcript.facts) if defense else result.transcript.facts
    facts = replace(facts, adversary=(CURIOUS,))
    view = result.view((CURIOUS,), Secret(plugin.produces, VICTIM), facts)
    return plugin().run(view, rng=stream(seed, "attack", name))


def score(result: Run, guess: Guess, name: str, seed: int) -> Score | None:
    """By the secret's main metric; None where the attack says nothing."""
    if not np.isfinite(guess.values).any():
        return None
    metric = metrics_for(guess.secret.kind)[0]
    truth = result.truth.of(guess.secret)
    up_to = ATTACKS.get(name).up_to
    return metric.score(guess, truth, Knowledge(), up_to=up_to, rng=stream(seed, "bootstrap"))


def _party(name: str, rows: Rows, first_id: int, test: Rows | None) -> Party:
    columns = tuple(f"c{i}" for i in range(rows.features.shape[1]))
    held_out = None if test is None else _slice(test, first_id + 500_000)
    return Party(name, Role.ACTIVE, columns, _slice(rows, first_id), held_out)


def _slice(rows: Rows, first_id: int) -> Slice:
    return Slice(np.arange(first_id, first_id + len(rows.labels)), rows.features, rows.labels)
