"""An owner whose sums are in plaintext: the label holder of its own columns, everybody in a centralised training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import BoolArray, IntArray
from fedleak.models.boosting.binning import BinnedColumns, Candidates
from fedleak.models.boosting.growth import Gradients, Owner, Sums


class PlainOwner(Owner):
    """``listed`` are the candidates of this tree in the order that decides among equal gains."""

    def __init__(self, columns: BinnedColumns, listed: Candidates, gradients: Gradients) -> None:
        self._columns, self.listed, self._gradients = columns, listed, gradients
        self._rows_of: Mapping[int, IntArray] = {}

    def announce(self, level: int, rows_of: Mapping[int, IntArray], wanted: Sequence[int]) -> None:
        self._rows_of = rows_of

    def sums(self, wanted: Sequence[int]) -> Mapping[int, Sums]:
        return {
            node: candidate_sums(self._columns, self.listed, self._gradients, self._rows_of[node]) for node in wanted
        }

    def route(self, chosen: Mapping[int, int]) -> Mapping[int, BoolArray]:
        return {
            node: routed(self._columns, self.listed, candidate, self._rows_of[node])
            for node, candidate in chosen.items()
        }


def routed(columns: BinnedColumns, listed: Candidates, candidate: int, rows: IntArray) -> BoolArray:
    place = int(listed.column[candidate]), int(listed.cut[candidate]), bool(listed.missing_left[candidate])
    return columns.goes_left(rows, *place)


def candidate_sums(columns: BinnedColumns, listed: Candidates, gradients: Gradients, rows: IntArray) -> Sums:
    taken = rows[gradients.sampled[rows]]
    groups, n_groups = columns.groups(taken), columns.n_groups
    found = [_left_sums(values[taken], groups, n_groups, listed) for values in (gradients.g, gradients.h)]
    return Sums(*found)


def _left_sums(values: IntArray, groups: IntArray, n_groups: int, listed: Candidates) -> IntArray:
    sums = np.zeros((len(groups), n_groups), dtype=np.int64)
    for total, group in zip(sums, groups, strict=True):
        np.add.at(total, group, values)
    running = np.cumsum(sums[:, :-1], axis=1)
    return np.asarray(running[listed.column, listed.cut] + listed.missing_left * sums[listed.column, -1])
