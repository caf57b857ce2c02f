"""What a few known labels and the adversary's own columns say of all other labels, without a message; and how likely
luck alone gets further than that.

Both answers are about the same rows: gains are paired. Of areas by DeLong et al. 1988 (rows' own shares of pairs won),
of balanced accuracies class by class; Student's tail with the degrees of freedom of the smaller class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.metrics.blind_fits import fitted_tables
from fedleak.models.few_labels import class_chances


def blind_chances(known: FloatArray, beside: FloatArray, n_classes: int) -> tuple[FloatArray, ...]:
    """(rows, classes) each, the higher the likelier: the head of ``few_labels``, ridge regressions and nearest rows on
    own columns. ``known``: each row's class, NaN where it is not known."""
    own = beside[:, np.isfinite(beside).all(axis=0)]
    rows = np.flatnonzero(np.isfinite(known))
    if not len(rows) or not own.shape[1]:
        return ()
    classes = known[rows].astype(np.int64)
    return class_chances(own, rows, classes, n_classes), *_fits(known, own, n_classes)


def _fits(known: FloatArray, own: FloatArray, n_classes: int) -> Iterator[FloatArray]:
    told = np.isfinite(known)
    tables = [fitted_tables(np.where(told, known == one, np.nan)[:, None], own) for one in range(n_classes)]
    for fits in zip(*tables, strict=True):
        yield np.hstack([cells for _, cells in fits])


@dataclass(frozen=True)
class PairedGain:
    value: float
    error: float  # standard
    freedom: int  # of the smaller class, one less

    @property
    def chance(self) -> float:
        """That luck gets so far."""
        from scipy.special import stdtr

        if self.freedom < 1 or self.value <= 0:
            return 1.0
        return float(stdtr(self.freedom, -self.value / self.error)) if self.error > 0 else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """95 %."""
        from scipy.special import stdtrit

        half = float(stdtrit(max(self.freedom, 1), 0.975)) * self.error
        return self.value - half, self.value + half


def gain_of_area(first: FloatArray, second: FloatArray, positive: BoolArray) -> PairedGain:
    """Of the order by ``first`` over that by ``second``, rows as they are."""
    differences = _pairs_won(first, positive) - _pairs_won(second, positive)
    groups = [differences[positive], differences[~positive]]
    return PairedGain(float(groups[0].mean()), _error(groups), min(map(len, groups)) - 1)


def gain_of_accuracy(first: FloatArray, second: FloatArray, classes: FloatArray) -> PairedGain:
    """Of the balanced accuracy; both say of every row whether it is right, from 0 to 1."""
    differences = first - second
    groups = [differences[classes == one] for one in np.unique(classes)]
    mean = float(np.mean([group.mean() for group in groups]))
    return PairedGain(mean, _error(groups) / len(groups), min(map(len, groups)) - 1)


def _error(groups: Sequence[FloatArray]) -> float:
    return float(np.sqrt(sum(group.var(ddof=1) / len(group) for group in groups if len(group) > 1)))


def _pairs_won(ranks: FloatArray, positive: BoolArray) -> FloatArray:
    """Of each row the share of the other class that it stands on the right side of; a tie is half a win."""
    won = np.empty(len(ranks))
    for mine, sign in ((positive, 1.0), (~positive, -1.0)):
        others = np.sort(sign * ranks[~mine])
        below, up_to = (np.searchsorted(others, sign * ranks[mine], side=side) for side in ("left", "right"))
        won[mine] = (below + up_to) / 2 / max(len(others), 1)
    return won
