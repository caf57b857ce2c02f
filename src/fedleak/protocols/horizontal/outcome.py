"""What a run of a horizontally federated linear model leaves behind: the truth and the model's accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.federation import Party, Slice
from fedleak.core.secret import Secret, SecretKind, together
from fedleak.core.truth import SecretValues, Truth

MAX_SUBSETS_OF = 6  # with more parties, only what single parties and single outsiders leave is kept


def truth_of(parties: Sequence[Party]) -> Truth:
    """Of every group of parties the records and the inner products of columns; of every party features and labels."""
    secrets: dict[Secret, SecretValues] = {}
    for group in _groups(parties):
        owner = together(party.name for party in group)
        rows = np.vstack([_records(party.train) for party in group])
        columns = (*group[0].columns, "label")
        secrets[Secret(SecretKind.RECORDS, owner)] = _values(columns, rows)
        # α and β = XᵀY with Y = ±1, side by side
        features, signs = rows[:, :-1], 2 * rows[:, -1:] - 1
        secrets[Secret(SecretKind.COLUMN_PRODUCTS, owner)] = _values(columns, features.T @ np.hstack([features, signs]))
    return Truth(secrets)


def accuracy(parties: Sequence[Party], weights: FloatArray, *, test: bool) -> float | None:
    """Share of rows on the right side of the decision boundary; None without such rows."""
    parts = [part for party in parties if (part := party.test if test else party.train) is not None]
    rows = [_records(part) for part in parts if len(part.ids)]
    if not rows:
        return None
    stacked = np.vstack(rows)
    return float(np.mean((stacked[:, :-1] @ weights > 0) == (stacked[:, -1] > 0)))


def _groups(parties: Sequence[Party]) -> Iterator[tuple[Party, ...]]:
    sizes = range(1, len(parties) + 1) if len(parties) <= MAX_SUBSETS_OF else (1, len(parties) - 1, len(parties))
    for size in sizes:
        yield from combinations(parties, size)


def _records(part: Slice) -> FloatArray:
    assert part.labels is not None
    return np.column_stack([part.features, part.labels.astype(np.float64)])


def _values(columns: tuple[str, ...], values: FloatArray) -> SecretValues:
    ranges = np.column_stack([values.min(axis=0), values.max(axis=0)])
    return SecretValues(np.arange(len(values)), columns, values, ranges)
