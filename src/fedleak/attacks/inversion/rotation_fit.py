"""Turn the factor until its columns look like the victim's: projections in turn with an orthogonal Procrustes step.

What is known of a column (few possible values, a range, a public sample) is used through one question: which column
that agrees with it is the nearest to this one?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.inversion.rotation_problem import Anchor
from fedleak.core.arrays import FloatArray
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn

MAX_SWEEPS = 300
SETTLED = 1e-9


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """``fixed`` holds columns of R that are already known (by column); ``source`` is R W where W was stolen."""

    factor: FloatArray
    columns: Sequence[ColumnKnowledge]
    fixed: dict[int, FloatArray]
    anchor: Anchor | None = None
    source: FloatArray | None = None

    @property
    def open_columns(self) -> list[int]:
        return [index for index in range(self.factor.shape[1]) if index not in self.fixed]

    def constrained(self, rotation: FloatArray) -> FloatArray:
        """The orthogonal matrix nearest to this one that has the fixed columns."""
        result = np.array(rotation)
        for index, column in self.fixed.items():
            result[:, index] = column
        rest = self.open_columns
        if self.fixed and rest:
            basis = self._outside()
            left, _, right = np.linalg.svd(basis.T @ rotation[:, rest])
            result[:, rest] = basis @ (left @ right)
        return result

    def _outside(self) -> FloatArray:
        known = np.column_stack(list(self.fixed.values()))
        whole, _ = np.linalg.qr(known, mode="complete")
        return np.asarray(whole[:, known.shape[1] :])

    def misfit(self, rotation: FloatArray) -> float:
        """Distance from what is known of the columns, relative to their size; infinite where zeros do not fit."""
        guess = self.factor @ rotation
        distance, size = float(np.linalg.norm(guess - self.target(guess))), float(np.linalg.norm(self.factor))
        return distance / size if size else 0.0 if distance == 0 else float("inf")

    def target(self, guess: FloatArray) -> FloatArray:
        return np.column_stack([known.nearest(guess[:, j]) for j, known in enumerate(self.columns)])


def match(problem: MatchingProblem, start: FloatArray) -> tuple[FloatArray, float]:
    """From a start to the nearest rotation whose columns agree with what is known, and its misfit."""
    pull = _anchor_pull(problem)
    rotation, misfit = problem.constrained(start), float("inf")
    for _ in range(MAX_SWEEPS):
        guess = problem.factor @ rotation
        left, _, right = np.linalg.svd(problem.factor.T @ problem.target(guess) + pull)
        rotation = problem.constrained(left @ right)
        new = problem.misfit(rotation)
        if not misfit - new >= SETTLED:  # not a number where both are infinite
            break
        misfit = new
    return rotation, problem.misfit(rotation)


def _anchor_pull(problem: MatchingProblem) -> FloatArray:
    width = problem.factor.shape[1]
    if problem.anchor is None or problem.source is None:
        return np.zeros((width, width))
    weights = problem.anchor.weights
    heavy = 10 * float(np.sum(problem.factor**2)) / float(weights @ weights)
    return np.asarray(heavy * np.outer(problem.source, weights))


MOST_VALUES = 40  # a whole-number column with a wider range is treated as bounded only


@dataclass(frozen=True, eq=False)
class ColumnKnowledge:
    """``values``: all that the column can take. ``sample``: values of similar people, sorted."""

    values: FloatArray | None = None
    low: float | None = None
    high: float | None = None
    sample: FloatArray | None = None

    @property
    def what(self) -> str:
        if self.values is not None:
            return f"{len(self.values)} possible values"
        if self.sample is not None:
            return "a known marginal"
        return "a range" if self.low is not None or self.high is not None else "nothing"

    def nearest(self, column: FloatArray) -> FloatArray:
        """The column closest to this one that agrees with what is known."""
        if self.values is not None and self.sample is None:
            places = np.clip(np.searchsorted(self.values, column), 1, len(self.values) - 1)
            below, above = self.values[places - 1], self.values[places]
            return np.where(column - below <= above - column, below, above)
        if self.sample is not None:
            return self._matched(column)
        return np.clip(column, -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high)

    def _matched(self, column: FloatArray) -> FloatArray:
        """The sample's quantiles in the column's order: the least movement to the known marginal."""
        assert self.sample is not None
        ranks = np.empty(len(column))
        ranks[np.argsort(column, kind="stable")] = (np.arange(len(column)) + 0.5) / len(column)
        grid = (np.arange(len(self.sample)) + 0.5) / len(self.sample)
        return np.interp(ranks, grid, self.sample)


def column_knowledge(knowledge: Knowledge, owner: str, width: int) -> tuple[list[ColumnKnowledge], FloatArray | None]:
    """Per column what is declared, and the public sample's rows where there is one."""
    known = [column for column in knowledge.columns if column.owner == owner]
    rows = next((np.asarray(s.rows.values, dtype=np.float64) for s in knowledge.samples if s.owner == owner), None)
    if rows is not None and rows.shape[1] != width:
        rows = None
    return [_of_column(index, known, rows) for index in range(width)], rows


def _of_column(index: int, known: Sequence[KnownColumn], rows: FloatArray | None) -> ColumnKnowledge:
    declared = known[index] if index < len(known) else None
    sample = None if rows is None else np.sort(rows[:, index])
    low = None if declared is None else declared.low
    high = None if declared is None else declared.high
    values = _values(declared)
    return ColumnKnowledge(_values_of(sample) if values is None else values, low, high, sample)


def _values_of(sample: FloatArray | None) -> FloatArray | None:
    """A sample of whole numbers shows a code: the victim's values are taken to lie in the same range.

    Where they do not, no column fits them exactly, and the sample is used as a marginal.
    """
    if sample is None or not len(sample) or not np.equal(sample, np.round(sample)).all():
        return None
    low, high = float(sample[0]), float(sample[-1])
    return np.arange(low, high + 1) if 0 < high - low < MOST_VALUES else None


def _values(declared: KnownColumn | None) -> FloatArray | None:
    if declared is None or declared.kind is None:
        return None
    low, high = declared.low, declared.high
    if declared.kind is ColumnKind.BINARY:
        ends = (0.0, 1.0) if low is None or high is None or low == high else (low, high)
        return np.array(ends)
    if declared.kind is ColumnKind.INTEGER and low is not None and high is not None and 0 < high - low < MOST_VALUES:
        return np.arange(np.ceil(low), np.floor(high) + 1)
    return None
