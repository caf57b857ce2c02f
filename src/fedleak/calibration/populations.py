"""Populations that tables are drawn from, twice where one is seen and the other is the truth.

A cell is a function of a latent normal value: its column's shift, what the adversary's own columns say of it, what the
cells of its row have in common, and noise. Shift and slopes are drawn anew with every table, so that two tables share
what is declared and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray

Link = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Population:
    """``shift`` and ``slope`` are standard deviations of what all rows of a column share, ``common`` of what all cells
    of a row share, ``noise`` of what a cell has alone."""

    name: str
    link: Link
    shift: float = 1.0
    slope: float = 0.0
    common: float = 0.0
    noise: float = 1.0
    positives: float = 0.5

    def latent(self, own: FloatArray, width: int, rng: np.random.Generator) -> FloatArray:
        """(rows, width) latent values beside the own columns, from a table's own shifts and slopes."""
        n, p = own.shape
        slopes = rng.standard_normal((p, width)) * (self.slope / max(p, 1) ** 0.5)
        return np.asarray(
            self.shift * rng.standard_normal(width)
            + own @ slopes
            + self.common * rng.standard_normal((n, 1))
            + self.noise * rng.standard_normal((n, width))
        )

    def latent_beside(
        self, own: FloatArray, seen: FloatArray, known: BoolArray, rng: np.random.Generator
    ) -> FloatArray:
        """Another draw among those that have the same known cells (Matheron's rule: Journel and Huijbregts 1978)."""
        drawn = self.latent(own, seen.shape[1], rng)
        if not known.any():
            return drawn
        rows, columns = np.nonzero(known)
        every = np.indices(seen.shape).reshape(2, -1)
        towards = self._covariance(own, (every[0], every[1]), (rows, columns))
        among = self._covariance(own, (rows, columns), (rows, columns))
        moved = towards @ np.linalg.solve(among, (seen - drawn)[known])
        return np.where(known, seen, drawn + moved.reshape(seen.shape))

    def _covariance(
        self, own: FloatArray, first: tuple[IntArray, IntArray], second: tuple[IntArray, IntArray]
    ) -> FloatArray:
        alike = own @ own.T * (self.slope**2 / max(own.shape[1], 1)) + self.shift**2
        same_row = first[0][:, None] == second[0]
        same_column = first[1][:, None] == second[1]
        of_column = np.where(same_column, alike[np.ix_(first[0], second[0])], 0.0)
        return np.asarray(of_column + same_row * self.common**2 + (same_row & same_column) * self.noise**2)

    def classes(self, told_by: FloatArray, rng: np.random.Generator, *, n_classes: int = 2) -> IntArray:
        """Labels that the columns tell something of, by a rule of the table's own. Of two classes, how many rows are
        positive is a matter of chance, but neither is empty; more are as large as one another."""
        rank = np.argsort(np.argsort(self.outcomes(told_by, rng)))
        n = len(rank)
        if n_classes > 2:
            return np.asarray(rank * n_classes // n, dtype=np.int64)
        n_positives = min(max(1, int(rng.binomial(n, self.positives))), n - 1)
        return np.asarray(rank >= n - n_positives, dtype=np.int64)

    def outcomes(self, told_by: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Numbers that the columns tell half of, by a rule of the table's own."""
        n, p = told_by.shape
        rule = rng.standard_normal(p) / max(p, 1) ** 0.5
        return np.asarray(told_by @ rule + rng.standard_normal(n))


def _as_it_is(latent: FloatArray) -> FloatArray:
    return latent


def _mostly_equal(latent: FloatArray) -> FloatArray:
    """Nine cells in ten are the column's one value."""
    return np.where(np.abs(latent) > 1.645, latent, 1.0)


def _yes_or_no(latent: FloatArray) -> FloatArray:
    return (latent > 0).astype(np.float64)


# Cells that do not show their latent value have no shift: what is known of some would not fix it for two tables alike.
POPULATIONS = {
    population.name: population
    for population in (
        Population("normal", _as_it_is),
        Population("skewed", np.exp, shift=0.5),
        Population("imbalanced-5", _as_it_is, positives=0.05),
        Population("imbalanced-1", _as_it_is, positives=0.01),
        Population("correlated", _as_it_is, slope=1.5, common=0.7, noise=0.7),
        Population("constant", _mostly_equal, shift=0.0),
        Population("binary", _yes_or_no, shift=0.0),
    )
}
