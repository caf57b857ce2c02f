"""One column of a secret beside readings of messages: chosen on one half of the rows, scored on the other.

The half is drawn by lot, the same for all. On the first half are chosen: which reading, of which visit, in which
direction, and the blind answer, a fit of what the receiver has itself. On the second half, where nothing was chosen,
both are scored, and a partial correlation of ranks says how likely luck makes the reading add so much to the blind one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.metrics.rank_interval import Ranking

FEWEST_ROWS = 8  # of a half
AREA, RANKS = "auc", "rank-correlation"
HALVES = 20261118  # of the lot that divides rows


@dataclass(frozen=True, eq=False)
class Visit:
    number: int
    names: tuple[str, ...]
    ids: IntArray
    readings: FloatArray


@dataclass(frozen=True)
class Measured:
    """Of rows that chose nothing: how well the chosen reading ranks them, and how well the blind answer does."""

    reading: str
    visit: int  # which message about the same rows, from 0
    rows: int  # on which it was scored
    measure: str
    value: float
    baseline: float
    p_value: float


class About:
    """One column of a secret, and what the receiver has itself."""

    def __init__(self, ids: IntArray, values: FloatArray, own: FloatArray) -> None:
        self.place = {int(row): place for place, row in enumerate(ids)}
        self.values = values
        self.own = _standardised(own)
        lot = np.random.default_rng(HALVES).permutation(len(ids))
        self.first: BoolArray = lot % 2 == 0
        told = values[np.isfinite(values)]
        self.two_classes = len(np.unique(told)) == 2
        self.high = float(told.max()) if len(told) else 0.0

    def best(self, visits: Sequence[Visit]) -> Measured | None:
        """Chosen on the first half, scored on the second."""
        chosen: tuple[float, Visit, int, IntArray] | None = None
        for visit in visits:
            at, kept = self._places(visit)
            one = at[self.first[at]]
            if not self._enough(at) or not visit.readings.size:
                continue
            left = _ranks(self.values[one]) - self._blind(one, one)
            readings = np.apply_along_axis(_ranks, 0, visit.readings[kept][self.first[at]])
            strengths = _correlations(readings, left)
            column = int(np.argmax(np.abs(strengths)))
            if chosen is None or abs(strengths[column]) > abs(chosen[0]):
                chosen = (float(strengths[column]), visit, column, at)
        return None if chosen is None or not chosen[0] else self._scored(*chosen)

    def _places(self, visit: Visit) -> tuple[IntArray, BoolArray]:
        found = np.array([self.place.get(int(row), -1) for row in visit.ids], dtype=np.int64)
        kept = (found >= 0) & np.isfinite(visit.readings).all(axis=1)
        kept[kept] &= np.isfinite(self.values[found[kept]])
        return found[kept], kept

    def _enough(self, at: IntArray) -> bool:
        halves = (self.values[at[self.first[at]]], self.values[at[~self.first[at]]])
        return all(len(half) >= FEWEST_ROWS and np.ptp(half) > 0 for half in halves)

    def _blind(self, fitted: IntArray, asked: IntArray) -> FloatArray:
        """A ridge regression of the ranks on the receiver's own columns, fitted on some rows and asked for others."""
        ranks, own = _ranks(self.values[fitted]), self.own[fitted]
        width = max(1, own.shape[1])
        middle = own.mean(axis=0)
        inner = (own - middle).T @ (own - middle) + width * np.eye(own.shape[1])
        weights = np.linalg.solve(inner, (own - middle).T @ (ranks - ranks.mean()))
        return np.asarray(ranks.mean() + (self.own[asked] - middle) @ weights)

    def _scored(self, strength: float, visit: Visit, column: int, at: IntArray) -> Measured:
        one, other = at[self.first[at]], at[~self.first[at]]
        _, kept = self._places(visit)
        reading = np.sign(strength) * visit.readings[kept][~self.first[at], column]
        blind, values = self._blind(one, other), self.values[other]
        return Measured(
            visit.names[column],
            visit.number,
            len(other),
            AREA if self.two_classes else RANKS,
            self._score(reading, values),
            self._score(blind, values),
            _chance(_ranks(reading), _ranks(values), _ranks(blind)),
        )

    def _score(self, reading: FloatArray, values: FloatArray) -> float:
        if self.two_classes:
            return Ranking.of(reading, values == self.high).area
        return float(_correlations(_ranks(reading)[:, None], _ranks(values))[0])


def _chance(reading: FloatArray, values: FloatArray, blind: FloatArray) -> float:
    """Of a partial correlation of ranks as high as this, beside the blind answer, by luck (Student)."""
    from scipy.stats import t

    given = np.column_stack([np.ones(len(blind)), blind])
    left = [ranks - given @ np.linalg.lstsq(given, ranks, rcond=None)[0] for ranks in (reading, values)]
    if np.linalg.norm(left[1]) <= 1e-9 * np.linalg.norm(values):
        return 1.0  # the blind answer has it all
    r = float(_correlations(left[0][:, None], left[1])[0])
    degrees = len(reading) - 3
    return float(t.sf(r * np.sqrt(degrees / max(1 - r * r, 1e-15)), degrees))


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def _correlations(columns: FloatArray, values: FloatArray) -> FloatArray:
    centred, other = columns - columns.mean(axis=0), values - values.mean()
    lengths = np.linalg.norm(centred, axis=0) * np.linalg.norm(other)
    return np.where(lengths > 0, centred.T @ other / np.where(lengths > 0, lengths, 1.0), 0.0)


def _standardised(own: FloatArray) -> FloatArray:
    """Without what is missing: a cell that is not there has its column's mean."""
    cells = np.where(np.isfinite(own), own, np.nan)
    means = np.nan_to_num(np.nanmean(cells, axis=0)) if cells.size else np.zeros(own.shape[1])
    filled = np.where(np.isfinite(cells), cells, means) - means
    spread = filled.std(axis=0)
    return np.asarray(filled / np.where(spread > 0, spread, 1.0))
