"""Which rows are in which batches, and what sums over batches tell of each of them (Jin et al. 2021, step I).

The gradient of the first fully connected layer's bias, times the batch's size, is the sum of its rows' own gradients
v_n: S V = B, with a row of S for each batch. The paper descends on it (eq. 7); it is a linear system, solved once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value

ZERO = 1e-10  # of the largest eigenvalue: indicators are whole numbers, so that what is not zero is far above
FREE = 1e-4  # of a unit vector that nothing fixes: a row with a larger part in one is not determined


@dataclass(frozen=True, eq=False)
class Batches(Value):
    ids: IntArray  # of all rows that are in some batch, in order
    counts: FloatArray  # (batches, rows): how often a batch holds a row

    @classmethod
    def of(cls, drawn: Sequence[IntArray]) -> Batches:
        ids = np.unique(np.concatenate(drawn)) if drawn else np.zeros(0, dtype=np.int64)
        counts = np.zeros((len(drawn), len(ids)))
        for number, batch in enumerate(drawn):
            np.add.at(counts[number], np.searchsorted(ids, batch), 1.0)
        return cls(ids, counts)

    @cached_property
    def sizes(self) -> FloatArray:
        """Rows of each batch, one that repeats as often as it does."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def n_repeats(self) -> int:
        """Times that a row is in a batch again."""
        return int(np.maximum(self.counts - 1, 0).sum())

    @cached_property
    def products(self) -> FloatArray:
        """S^T S."""
        return np.asarray(self.counts.T @ self.counts)

    @cached_property
    def n_holding(self) -> IntArray:
        """In how many batches each row is."""
        return np.asarray((self.counts > 0).sum(axis=0), dtype=np.int64)

    @cached_property
    def shadowed(self) -> BoolArray:
        """Rows that are in no batch without one certain other row: subspaces that batches share never part the two."""
        held = (self.counts > 0).astype(np.float64)
        together = held.T @ held
        np.fill_diagonal(together, -1.0)
        return np.asarray(together.max(axis=1, initial=-1.0) >= self.n_holding)

    def rows(self, batch: int) -> IntArray:
        """Positions of the rows of a batch, each once."""
        return np.flatnonzero(self.counts[batch]).astype(np.int64)

    def first(self, n_batches: int) -> Batches:
        """The first batches alone; of the rows those that are in them."""
        counts = self.counts[:n_batches]
        held = counts.any(axis=0)
        return Batches(self.ids[held], counts[:, held])


@dataclass(frozen=True, eq=False)
class Unmixed(Value):
    """``values``: v_n of each row. ``noise_gain``: by how much rounding of one batch's gradient grows in each row; NaN
    where the batches do not determine the row, whose value then means nothing."""

    values: FloatArray
    noise_gain: FloatArray
    rank: int
    residual: float  # of all equations, as a share of their right side; NaN where none is to spare

    @property
    def determined(self) -> BoolArray:
        return np.asarray(np.isfinite(self.noise_gain))


@dataclass(frozen=True, eq=False)
class Solved(Value):
    """Of symmetric equations M X = R: the least-norm solution, which rows of it are determined, and diag(M^+)."""

    values: FloatArray
    determined: BoolArray
    inverse_diagonal: FloatArray
    rank: int


def solve_symmetric(matrix: FloatArray, right: FloatArray, zero: float = ZERO) -> Solved:
    """Scaled to a unit diagonal first: a row that weighs little is not taken for one that is not there."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    live = scale > 0
    inverse = np.where(live, 1.0 / np.where(live, scale, 1.0), 0.0)
    values, vectors = np.linalg.eigh(matrix * np.outer(inverse, inverse))
    kept = values > zero * max(1.0, values[-1] if len(values) else 1.0)
    basis, free = vectors[:, kept] / np.sqrt(values[kept]), vectors[:, ~kept]
    solution = inverse[:, None] * (basis @ (basis.T @ (inverse[:, None] * right)))
    determined = live & (np.abs(free).max(axis=1, initial=0.0) < FREE)
    return Solved(solution, determined, np.asarray((basis**2).sum(axis=1) * inverse**2), int(kept.sum()))


def unmixed(batches: Batches, sums: FloatArray) -> Unmixed:
    """V from S V = ``sums`` by least squares, in float64."""
    solved = solve_symmetric(batches.products, batches.counts.T @ sums)
    spare = len(sums) > solved.rank
    left = np.linalg.norm(batches.counts @ solved.values - sums) / max(float(np.linalg.norm(sums)), 1e-300)
    known = solved.determined
    return Unmixed(
        solved.values,
        np.where(known, np.sqrt(solved.inverse_diagonal), np.nan),
        solved.rank,
        float(left) if spare else float("nan"),
    )
