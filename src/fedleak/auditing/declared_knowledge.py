"""What a scenario declares that an adversary knows beforehand, drawn from the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.auditing.scenario import KnowledgeSpec
from fedleak.core.arrays import FloatArray, flat_rows
from fedleak.core.errors import ScenarioError
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownCells, KnownColumn, KnownLabels, PublicSample
from fedleak.core.payload import Table
from fedleak.core.whole.federation import Federation, Party
from fedleak.data.column_encoding import regular_step


def draw_knowledge(
    spec: KnowledgeSpec, federation: Federation, coalition: tuple[str, ...], rng: np.random.Generator
) -> Knowledge:
    """Exactly what the scenario declares, of every party outside the coalition that holds columns."""
    victims = [party for party in federation.parties if party.name not in coalition and party.columns]
    return Knowledge(
        cells=tuple(_cells(party, spec, rng) for party in victims if spec.cells > 0),
        columns=tuple(column for party in victims if spec.ranges or spec.kinds for column in _columns(party, spec)),
        samples=tuple(_sample(party, spec.sample) for party in victims if spec.sample > 0),
        labels=tuple(_labels(party, spec.labels, rng) for party in _label_holders(federation, coalition, spec)),
    )


def _label_holders(federation: Federation, coalition: tuple[str, ...], spec: KnowledgeSpec) -> list[Party]:
    outside = [party for party in federation.parties if party.name not in coalition]
    return [party for party in outside if spec.labels > 0 and party.train.labels is not None]


def _labels(party: Party, count: int, rng: np.random.Generator) -> KnownLabels:
    """Of every class as many, as far as it has them (Fu et al. 2022); of numbers so many in all."""
    from fedleak.metrics.cell_metrics import are_classes  # theory alone needs no metrics

    labels = np.asarray(party.train.labels, dtype=np.float64)
    groups = (
        [np.flatnonzero(labels == one) for one in np.unique(labels)]
        if are_classes(labels)
        else [np.arange(len(labels))]
    )
    rows = np.sort(np.concatenate([rng.permutation(group)[:count] for group in groups]))
    if len(rows) >= len(labels):
        raise ScenarioError(
            f"adversary.knowledge.labels must leave rows of {party.name} to guess; all {len(labels)} would be known"
        )
    return KnownLabels(party.name, party.train.ids[rows], labels[rows])


def _cells(party: Party, spec: KnowledgeSpec, rng: np.random.Generator) -> KnownCells:
    values = flat_rows(party.train.features)
    count = round(spec.cells * values.size)
    rows, columns = np.unravel_index(np.sort(rng.choice(values.size, size=count, replace=False)), values.shape)
    known, within = values[rows, columns], 0.0
    if spec.decimals >= 0:
        known, within = np.round(known, spec.decimals), 0.5 * 10.0**-spec.decimals
    return KnownCells(party.name, party.train.ids[rows], columns.astype(np.int64), known, within)


def _columns(party: Party, spec: KnowledgeSpec) -> list[KnownColumn]:
    found = []
    for index, name in enumerate(party.columns):
        values = flat_rows(party.described_by)[:, index]
        values = values[~np.isnan(values)]
        low, high = (float(values.min()), float(values.max())) if spec.ranges and len(values) else (None, None)
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
    rows = Table(party.columns, held_out.ids[:count], flat_rows(held_out.features[:count]))
    return PublicSample(party.name, rows)
