"""What every metric offers, and the way that all of them take from a guess to a score with its 95 % interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, Value, flat_rows, freeze
from fedleak.core.attack import Guess
from fedleak.core.finding import Better, Score
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues, Served
from fedleak.metrics.alignment import aligned, answers_of, unknown_cells
from fedleak.metrics.exact_shares import share_interval

MATCHED_DRAWS = 10
N_RESAMPLES = 1000
MAX_UNITS = 2000  # more rows than this are resampled in blocks, which keeps the cost bounded


@dataclass(frozen=True, eq=False)
class Answered(Value):
    """A guess beside the truth, which all metrics share: rows are matched and rotations found once for all of them.

    ``up_to`` is the attack's, and the only freedom of alignment. ``served`` is the model that predicted the secret's
    rows, where one did.
    """

    guess: Guess
    truth: SecretValues
    knowledge: Knowledge
    up_to: frozenset[Symmetry] = frozenset()
    served: Served | None = None

    @cached_property
    def unknown(self) -> BoolArray:
        """The cells that count: those that the adversary did not know beforehand."""
        return freeze(unknown_cells(self.guess.secret, self.truth, self.knowledge))

    @cached_property
    def answers(self) -> tuple[FloatArray, ...]:
        """The guess, or each of its equally good candidates, as near to the truth as ``up_to`` allows."""
        found = answers_of(self.guess, self.truth)
        return tuple(freeze(aligned(cells, self.truth.values, self.up_to)) for cells in found)


class Metric(ABC):
    """A figure for a guess beside the truth, with what the best guess without the run would get."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    better: ClassVar[Better]
    applies_to: ClassVar[frozenset[SecretKind]]

    @abstractmethod
    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        """None: there is nothing to measure here. ``rng`` draws the bootstrap."""


class CellMetric(Metric):
    """A mean over all of the secret's cells that the adversary did not know beforehand.

    It says what one cell scores and what the best guess without the run scores; that candidates are averaged,
    symmetries honoured and rows resampled is the same for all.
    """

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth, unknown = answered.truth, answered.unknown
        if not unknown.any() or not self.suits(answered.guess.secret.kind, truth):
            return None
        cells = np.mean([self.cell_scores(answer, truth, unknown) for answer in answered.answers], axis=0)
        baseline = self.baseline(truth, unknown)
        if answered.up_to & {Symmetry.ROW_ORDER, Symmetry.COLUMN_ORDER, Symmetry.CLASS_NAMES}:
            chance = self._matched_chance(answered, rng.spawn(1)[0])
            baseline = max(baseline, chance) if self.better is Better.HIGHER else min(baseline, chance)
        return self.score_of(cells, baseline, unknown, rng)

    def score_of(self, cells: FloatArray, baseline: float, unknown: BoolArray, rng: np.random.Generator) -> Score:
        """The mean of the unknown cells' scores, with the interval over rows."""
        interval = self.interval(flat_rows(cells), flat_rows(unknown), rng)
        return Score(self.name, float(cells[unknown].mean()), baseline, self.better, interval, int(unknown.sum()))

    def interval(self, cells: FloatArray, counted: BoolArray, rng: np.random.Generator) -> tuple[float, float]:
        """Over rows, each with the mean of the cells that count."""
        rows = counted.any(axis=1)
        return mean_interval(np.where(counted, cells, 0.0)[rows].sum(axis=1) / counted[rows].sum(axis=1), rng)

    def _matched_chance(self, answered: Answered, rng: np.random.Generator) -> float:
        """What a table with the right columns in the wrong rows scores once it is matched: matching flatters."""
        truth, unknown = answered.truth, answered.unknown
        drawn = matched_draws(answered, rng)
        return float(np.mean([float(self.cell_scores(cells, truth, unknown)[unknown].mean()) for cells in drawn]))

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        """Whether the truth's values are of the sort that is measured here; not all labels are."""
        return True

    @abstractmethod
    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        """The score of every cell of an answer; a cell without a guess is NaN there."""

    @abstractmethod
    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        """What the best guess from prior knowledge scores on the unknown cells."""


class ShareMetric(CellMetric):
    """A share of cells that are right. Where a row has one cell, the interval is exact; rows of several are resampled,
    and where resampling finds no difference between them, the cells have the exact interval: 455 of 455 is not
    "100 % to 100 %"."""

    better = Better.HIGHER

    def interval(self, cells: FloatArray, counted: BoolArray, rng: np.random.Generator) -> tuple[float, float]:
        resampled, hits, n = super().interval(cells, counted, rng), float(cells[counted].sum()), int(counted.sum())
        one_each = bool((counted.sum(axis=1) <= 1).all())
        return share_interval(hits, n) if one_each else unless_alike(resampled, hits, n)


def unless_alike(resampled: tuple[float, float], hits: float, n: int) -> tuple[float, float]:
    """The interval over rows; where all rows are alike it has no width, and the exact one of the share stands in."""
    return share_interval(hits, n) if resampled[0] == resampled[1] else resampled


def matched_draws(answered: Answered, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Tables with the right columns in the wrong rows, matched to the truth as the guess was."""
    true = answered.truth.values
    for _ in range(MATCHED_DRAWS):
        shuffled = rng.permuted(true, axis=0)  # each column on its own
        yield aligned(shuffled, true, answered.up_to)


def mean_interval(rows: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Interval of the mean of one figure a row; rows, not cells, are the independent units."""
    return ratio_interval(rows, np.ones(len(rows)), rng)


def ratio_interval(parts: FloatArray, wholes: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Interval of sum(parts) / sum(wholes), with a part and a whole (above 0) for each row."""
    if len(parts) == 0:
        raise ValueError("an interval needs at least one row")
    units, sizes = parts, wholes
    if len(parts) > MAX_UNITS:
        blocks = np.array_split(rng.permutation(len(parts)), MAX_UNITS)
        units = np.array([parts[block].sum() for block in blocks])
        sizes = np.array([wholes[block].sum() for block in blocks])
    picks = rng.integers(len(units), size=(N_RESAMPLES, len(units)))
    means = units[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
