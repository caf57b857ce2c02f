"""What is true of rows that several parties hold: the records of every group, and inner products of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fedleak.core.adversary import Secret, SecretKind, together
from fedleak.core.arrays import FloatArray
from fedleak.core.whole.federation import Party, Slice
from fedleak.core.whole.truth import MAX_SUBSETS_OF, SecretValues, Truth, groups_of


def truth_of(parties: Sequence[Party]) -> Truth:
    """Of every group of parties the records and the inner products of columns; of every party features and labels."""
    secrets: dict[Secret, SecretValues] = {}
    columns = (*parties[0].columns, "label")
    records = GroupRecords(parties)
    products = {party.name: _products(records_of(party.train)) for party in parties}
    for group in groups_of(parties):
        owner = together(party.name for party in group)
        secrets[Secret(SecretKind.RECORDS, owner)] = _values(columns, records.of(group))
        added = np.sum([products[party.name] for party in group], axis=0)
        secrets[Secret(SecretKind.COLUMN_PRODUCTS, owner)] = _values(columns, added)
    return Truth(secrets)


def _products(rows: FloatArray) -> FloatArray:
    """α and β = XᵀY with Y = ±1, side by side."""
    features, signs = rows[:, :-1], 2 * rows[:, -1:] - 1
    return np.asarray(features.T @ np.hstack([features, signs]))


class GroupRecords:
    """Rows of groups of parties. Of many parties only whole runs are asked for, round the circle, and all of them are
    parts of one array: all but one of 50 parties, for each of the 50, would be as many copies of the data. Records
    have no order, so a run may begin anywhere."""

    def __init__(self, parties: Sequence[Party]) -> None:
        self._places = {party.name: place for place, party in enumerate(parties)}
        parts = [records_of(party.train) for party in parties]
        self._twice = np.vstack([*parts, *parts]) if len(parties) > MAX_SUBSETS_OF else None
        self._parts = parts if self._twice is None else []
        self._starts = np.cumsum([0, *(len(part) for part in (*parts, *parts))])

    def of(self, group: Sequence[Party]) -> FloatArray:
        places = [self._places[party.name] for party in group]
        if self._twice is None:
            return np.vstack([self._parts[place] for place in places])
        # Where one is left out, the run begins behind it
        first = next((place for before, place in pairwise(places) if place > before + 1), places[0])
        return self._twice[self._starts[first] : self._starts[first + len(places)]]


def records_of(part: Slice) -> FloatArray:
    assert part.labels is not None
    return np.column_stack([part.features, part.labels.astype(np.float64)])


def _values(columns: tuple[str, ...], values: FloatArray) -> SecretValues:
    return SecretValues.spanning(np.arange(len(values)), columns, values)
