"""Draw what an adversary is declared to know, with randomness of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.audit.scenario import KnowledgeSpec
from fedleak.core.arrays import FloatArray
from fedleak.core.errors import ScenarioError
from fedleak.core.federation import Federation, Party
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownCells, KnownColumn, PublicSample
from fedleak.core.payload import Table
from fedleak.data.column_steps import regular_step


def draw_knowledge(
    spec: KnowledgeSpec, federation: Federation, coalition: tuple[str, ...], rng: np.random.Generator
) -> Knowledge:
    """Exactly what the scenario declares, of every party outside the coalition that holds columns."""
    victims = [party for party in federation.parties if party.name not in coalition and party.columns]
    return Knowledge(
        cells=tuple(_cells(party, spec.cells, rng) for party in victims if spec.cells > 0),
        columns=tuple(column for party in victims if spec.ranges or spec.kinds for column in _columns(party, spec)),
        samples=tuple(_sample(party, spec.sample) for party in victims if spec.sample > 0),
    )


def _cells(party: Party, share: float, rng: np.random.Generator) -> KnownCells:
    values = party.train.features
    count = round(share * values.size)
    rows, columns = np.unravel_index(np.sort(rng.choice(values.size, size=count, replace=False)), values.shape)
    return KnownCells(party.name, party.train.ids[rows], columns.astype(np.int64), values[rows, columns])


def _columns(party: Party, spec: KnowledgeSpec) -> list[KnownColumn]:
    found = []
    for index, name in enumerate(party.columns):
        values = party.train.features[:, index]
        low, high = (float(values.min()), float(values.max())) if spec.ranges else (None, None)
        known = KnownColumn(party.name, name, low=low, high=high)
        found.append(_with_kind(known, values) if spec.kinds else known)
    return found


def _with_kind(column: KnownColumn, values: FloatArray) -> KnownColumn:
    found, column = regular_step(values), replace(column, kind=_kind(values))
    return column if found is None else replace(column, step=found.step, slack=found.slack)


def _kind(values: FloatArray) -> ColumnKind:
    if np.isin(values, (0, 1)).all():
        return ColumnKind.BINARY
    return ColumnKind.INTEGER if np.equal(values, np.round(values)).all() else ColumnKind.NUMERIC


def _sample(party: Party, count: int) -> PublicSample:
    held_out = party.test
    if held_out is None or len(held_out.ids) < count:
        available = 0 if held_out is None else len(held_out.ids)
        raise ScenarioError(
            f"adversary.knowledge.sample must be at most the {available} held-out rows; got {count}; "
            "raise federation.partition.test_share"
        )
    rows = Table(party.columns, held_out.ids[:count], held_out.features[:count])
    return PublicSample(party.name, rows)
