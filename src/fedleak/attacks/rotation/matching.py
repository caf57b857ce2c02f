"""Turn the factor until its columns look like the victim's: projections in turn with an orthogonal Procrustes step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.inversion.problem import Anchor
from fedleak.attacks.rotation.column_knowledge import ColumnKnowledge
from fedleak.core.arrays import FloatArray

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
        """Distance from what is known of the columns, relative to their size."""
        guess = self.factor @ rotation
        return float(np.linalg.norm(guess - self.target(guess)) / np.linalg.norm(self.factor))

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
        if misfit - new < SETTLED:
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
