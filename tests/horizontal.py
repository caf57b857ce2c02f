"""Small horizontal federations for tests, made in memory."""

from __future__ import annotations

import numpy as np

import federations
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols.averaging.horizontal_logistic import HorizontalLogistic
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.averaging.vocabulary import HorizontalLogisticFacts


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


def train(federation: Federation, *, seed: int = 1, hooks: tuple = (), defense=None):
    return federations.run(federation, seed=seed, hooks=hooks, defense=defense)


def view_of(result, coalition: tuple[str, ...], target, **known):
    """A coalition's view; ``known`` are public facts that a defense would declare."""
    facts = result.transcript.facts.with_own(HorizontalLogisticFacts, **known)
    return result.view(coalition, target, facts.seen_by(coalition, HorizontalLogistic.reveals(None, (), coalition)))
