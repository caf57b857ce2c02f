"""Classes whose names stay open, told of all rows at once: how well parts that follow own columns by another rule do.

Redrawn labels cannot tell a row's own label from what any model predicts here, as names are matched on all rows. Labels
follow the adversary's own columns by a rule of the table's; so do parts that were found, and two rules of the same
columns go together, for better or worse. Luck is the parts by other rules, each as large and as close to own columns
as it was found. How close is told by the biserial correlation (Pearson 1909): a part is a cut of something normal,
which own columns explain more of than of the cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value, flat_rows
from fedleak.core.best_names import best_names
from fedleak.metrics.metric import Answered
from fedleak.metrics.other_rules import spanned, turns
from fedleak.metrics.row_orders import CLOSE
from fedleak.metrics.row_signal import MAX_UNITS
from fedleak.metrics.tails import tail

N_DRAWS = 400
AT_ONCE = 10**6  # inclinations that are drawn together


def parts_by_luck(answered: Answered) -> float:
    """How likely parts by another rule of own columns get as many rows right, under their best names; of equally good
    answers the likeliest. 0 where there are no own columns: rows in another order are luck enough."""
    counted = answered.unknown.ravel()
    rows = np.flatnonzero(counted)[:: -(-int(counted.sum()) // MAX_UNITS) or 1]
    own = None if answered.own is None or not len(rows) else spanned(answered.own.beside[rows])
    if own is None:
        return 0.0
    true = _numbered(flat_rows(answered.truth.values)[rows, 0])
    # Whoever scores the same answer again gets the same chance: it decides, and must not hang on luck itself.
    draws = np.random.default_rng([len(rows), own.shape[1]])
    return max(_Parts.of(flat_rows(answer)[rows, 0]).luck(true, own, draws) for answer in answered.answers)


@dataclass(frozen=True, eq=False)
class _Parts(Value):
    part: IntArray  # of each row, from 0 on; -1 where it is in none
    sizes: IntArray

    @classmethod
    def of(cls, cells: FloatArray) -> _Parts:
        told = np.isfinite(cells)
        part = np.full(len(cells), -1, dtype=np.int64)
        part[told] = _numbered(cells[told])
        return cls(part, np.bincount(part[told], minlength=1))

    def luck(self, true: IntArray, own: FloatArray, rng: np.random.Generator) -> float:
        told = self.part >= 0
        rules = self._rules(told, own)
        at_once = max(1, AT_ONCE // max(rules.size, own.size, len(true) * len(self.sizes)))
        drawn = []
        for first in range(0, N_DRAWS, at_once):
            inclined = _inclined(rules, own, min(at_once, N_DRAWS - first), rng)
            drawn += [best_names(one, true)[1] for one in self._filled(inclined, told)]
        return tail(best_names(self.part, true)[1] - CLOSE, np.array(drawn))

    def _rules(self, told: BoolArray, own: FloatArray) -> FloatArray:
        """(directions, parts): along which own columns each part lies, as long as its biserial correlation with them,
        which is at most 1."""
        from scipy.special import ndtri

        flags = (self.part[:, None] == np.arange(len(self.sizes))) & told[:, None]
        shares = np.clip(self.sizes / max(int(told.sum()), 1), 1e-9, 1 - 1e-9)
        slopes = own.T @ np.where(told[:, None], flags - shares, 0.0)
        of_a_cut = np.exp(-(ndtri(shares) ** 2) / 2) / (2 * np.pi) ** 0.5
        slopes /= of_a_cut * max(int(told.sum()), 1) ** 0.5
        lengths = np.linalg.norm(slopes, axis=0)
        return np.asarray(slopes / np.maximum(lengths, 1.0))

    def _filled(self, inclined: FloatArray, told: BoolArray) -> IntArray:
        """(draws, rows): the smallest part takes the rows most inclined to it, as many as it had, and so on."""
        found = np.full(inclined.shape[:2], -1, dtype=np.int64)
        free = np.broadcast_to(told, found.shape).copy()
        for part in np.argsort(self.sizes, kind="stable").tolist():
            wish = np.where(free, inclined[:, :, part], -np.inf)
            taken = np.argsort(-wish, axis=1, kind="stable")[:, : self.sizes[part]]
            np.put_along_axis(found, taken, part, axis=1)
            np.put_along_axis(free, taken, values=False, axis=1)
        return found


def _inclined(rules: FloatArray, own: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """(draws, rows, parts): how far each row is inclined to each part, by the rules turned, and by chance."""
    along = own @ (turns(count, own.shape[1], rng) @ rules) * len(own) ** 0.5
    left = np.sqrt(1 - np.minimum((rules**2).sum(axis=0), 1.0))
    return np.asarray(along + left * rng.standard_normal(along.shape))


def _numbered(values: FloatArray) -> IntArray:
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
