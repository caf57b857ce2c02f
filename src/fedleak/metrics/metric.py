"""What every metric offers, and the way that all of them take from a guess to a score with its 95 % interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from fedleak.metrics.blind import Blind, OwnRows, blind_answers
from fedleak.metrics.blind_labels import blind_chances
from fedleak.metrics.exact_shares import share_interval
from fedleak.metrics.learnt_means import means_by_luck
from fedleak.metrics.null_tables import null_tables

MOST_NULL_TABLES = 20
MAX_NULL_CELLS = 2 * 10**7  # in all of them: large tables need few
NULL_SEED = 0  # of answers that tell nothing: a public draw
LUCK = 0.025  # what comes about by luck with at most this probability is none: one side of a 95 % interval
N_RESAMPLES = 1000
MAX_UNITS = 2000  # more rows than this are resampled in blocks, which keeps the cost bounded


@dataclass(frozen=True, eq=False)
class Answered(Value):
    """A guess beside the truth, which all metrics share: rows are matched and rotations found once for all of them.

    ``up_to`` is the attack's, and the only freedom of alignment. ``served`` is the model that predicted the secret's
    rows, where one did; ``own`` what the adversary has itself.
    """

    guess: Guess
    truth: SecretValues
    knowledge: Knowledge
    up_to: frozenset[Symmetry] = frozenset()
    served: Served | None = None
    own: OwnRows | None = None
    absent: BoolArray | None = None  # cells of the truth that hold a filler: a missing cell has no value to find

    @cached_property
    def unknown(self) -> BoolArray:
        """The cells that count: those that there are, and that the adversary did not know beforehand."""
        unknown = unknown_cells(self.guess.secret, self.truth, self.knowledge)
        return freeze(unknown if self.absent is None else unknown & ~self.absent)

    @cached_property
    def answers(self) -> tuple[FloatArray, ...]:
        """The guess, or each of its equally good candidates, as near to the truth as ``up_to`` allows."""
        found = answers_of(self.guess, self.truth)
        return tuple(freeze(aligned(cells, self.truth.values, self.up_to)) for cells in found)

    @cached_property
    def blinds(self) -> tuple[Blind, ...]:
        """What anybody would answer without a message, aligned as the guess is."""
        own = OwnRows(np.empty((len(self.truth.ids), 0))) if self.own is None else self.own
        found = blind_answers(self.guess.secret, self.truth, self.knowledge, own)
        return tuple(self._aligned(blind) for blind in found) if self.up_to else found

    @cached_property
    def blind_chances(self) -> tuple[FloatArray, ...]:
        """Of labels that are classes from 0 on, where a few are known: (rows, classes), what the others are likely."""
        if not self.knowledge.labels or self.own is None:
            return ()
        known = self.knowledge.labels_of(self.guess.secret.owner, self.truth.ids)
        return blind_chances(known, self.own.beside, int(self.truth.values.max()) + 1)

    def _aligned(self, blind: Blind) -> Blind:
        true = self.truth.values
        cells = np.broadcast_to(blind.cells, flat_rows(true).shape).reshape(true.shape)
        return Blind(blind.how, flat_rows(aligned(cells, true, self.up_to)), blind.by_row)

    @cached_property
    def null_tables(self) -> tuple[FloatArray, ...]:
        """Answers that tell nothing about single rows: the guess's own rows in another order, aligned anew."""
        true = self.truth.values
        if len(true) < 2:
            return ()
        count = int(np.clip(MAX_NULL_CELLS // max(true.size, 1), 2, MOST_NULL_TABLES))
        rng = np.random.default_rng(NULL_SEED)
        return tuple(null_tables(self.answers, true, self.up_to, count, rng))

    @cached_property
    def means_learnt(self) -> BoolArray:
        """Of each cell of a row, flat: whether the guess names its mean too well for luck. Such a column's own cells
        in other rows are no baseline: they hold what was learnt."""
        luck = means_by_luck(self.answers, self.truth, self.unknown, self.blinds, self.up_to)
        return freeze(luck <= LUCK)


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

    It says what one cell scores; that candidates are averaged, symmetries honoured, blind answers tried and rows
    resampled is the same for all. A cell without a guess is given the best blind one, so that a partial guess never
    scores below no guess.
    """

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth, unknown = answered.truth, answered.unknown
        if not unknown.any() or not self.suits(answered.guess.secret.kind, truth):
            return None
        blind = self.blind_cells(answered)
        return self.score_of(self.scores_of(answered, blind), self.baseline_scores(answered, blind), unknown, rng)

    def scores_of(self, answered: Answered, blind: FloatArray) -> FloatArray:
        """Of every cell, the mean over the equally good answers."""
        filled = [np.where(np.isnan(answer), blind, answer) for answer in answered.answers]
        return np.asarray(np.mean([self.cell_scores(answer, answered.truth) for answer in filled], axis=0))

    def score_of(self, cells: FloatArray, baseline: FloatArray, unknown: BoolArray, rng: np.random.Generator) -> Score:
        """The mean of the unknown cells' scores, with its interval over rows and that of the gain, row by row."""
        counted = flat_rows(unknown)
        interval = self.interval(flat_rows(cells), counted, rng)
        gains = flat_rows(cells - baseline if self.better is Better.HIGHER else baseline - cells)
        value, blind = float(cells[unknown].mean()), float(baseline[unknown].mean())
        gain_ci = CellMetric.interval(self, gains, counted, rng)
        return Score(self.name, value, blind, self.better, interval, int(unknown.sum()), gain_ci)

    def interval(self, cells: FloatArray, counted: BoolArray, rng: np.random.Generator) -> tuple[float, float]:
        """Over rows, each with the mean of the cells that count."""
        rows = counted.any(axis=1)
        return mean_interval(np.where(counted, cells, 0.0)[rows].sum(axis=1) / counted[rows].sum(axis=1), rng)

    def blind_cells(self, answered: Answered) -> FloatArray:
        """Of every column the blind answer that scores best."""
        truth, shape = answered.truth, flat_rows(answered.truth.values).shape
        best, found = np.full(shape[1], -np.inf), np.zeros(shape)
        for blind in answered.blinds:
            cells = np.broadcast_to(blind.cells, shape)
            scores = self.column_means(self.cell_scores(cells.reshape(truth.values.shape), truth), answered.unknown)
            found = np.where(scores > best, cells, found)
            best = np.maximum(scores, best)
        return found.reshape(truth.values.shape)

    def baseline_scores(self, answered: Answered, blind: FloatArray) -> FloatArray:
        """Of every cell what the best blind answer scores; in a column where an answer that tells nothing about single
        rows does better, what that scores."""
        truth, unknown = answered.truth, answered.unknown
        scores = self.cell_scores(blind, truth)
        tables = [np.where(np.isnan(table), blind, table) for table in answered.null_tables]
        if not tables:
            return scores
        null = np.mean([self.cell_scores(table, truth) for table in tables], axis=0)
        better = self.column_means(null, unknown) > self.column_means(scores, unknown)
        better &= ~answered.means_learnt
        return np.where(better.reshape(truth.cell_shape), null, scores)

    def column_means(self, cells: FloatArray, unknown: BoolArray) -> FloatArray:
        """Of the cells that count in each column, the higher the better."""
        counted = flat_rows(unknown)
        sums = np.where(counted, flat_rows(cells), 0.0).sum(axis=0) / np.maximum(counted.sum(axis=0), 1)
        return np.asarray(sums if self.better is Better.HIGHER else -sums)

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        """Whether the truth's values are of the sort that is measured here; not all labels are."""
        return True

    @abstractmethod
    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        """The score of every cell of an answer that leaves none open."""


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
