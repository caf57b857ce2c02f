"""Small horizontal federations for tests, made in memory."""

from __future__ import annotations

import numpy as np

from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import MemorySink
from fedleak.protocols.averaging.horizontal_logistic import HorizontalLogistic
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings


def holder(name: str, rows: np.ndarray, labels: np.ndarray, first_id: int = 0) -> Party:
    columns = tuple(f"c{i}" for i in range(rows.shape[1]))
    ids = np.arange(first_id, first_id + len(rows))
    return Party(name, Role.ACTIVE, columns, Slice(ids, rows.astype(float), labels))


def federation(tables: dict[str, np.ndarray], settings: HorizontalLogisticSettings, seed: int = 0) -> Federation:
    """One party a table, labels drawn at random, and a server called hub."""
    rng = np.random.default_rng(seed)
    parties = [
        holder(name, rows, rng.integers(0, 2, len(rows)), 1000 * position)
        for position, (name, rows) in enumerate(tables.items())
    ]
    hub = Party("hub", Role.SERVER, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0))))
    return Federation(HorizontalLogistic.name, (*parties, hub), settings)


def binary(m: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (m, d)).astype(float)


def train(federation: Federation, *, seed: int = 1, hooks: tuple = ()):
    return HorizontalLogistic().run(federation, randomness=Randomness.published(seed), hooks=hooks, sink=MemorySink())


def view_of(result, coalition: tuple[str, ...], target, **options):
    """A coalition's view; ``options`` are public facts that a defense would declare."""
    from dataclasses import replace

    facts = result.transcript.facts
    facts = replace(facts, options={**facts.options, **options})
    return result.view(coalition, target, facts.seen_by(coalition, HorizontalLogistic.reveals(None, (), coalition)))
