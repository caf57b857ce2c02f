"""The linear system that a party's own gradient is: sum over the batch of r_i x_i = s * gradient.

Shared by the attacks that start from it. The unknowns are the residuals r_i (f_i / 4 of eq. 6 in
Hu et al. 2022); the columns are the coalition's own features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.view import View

# Singular values below this share of the largest count as zero. Gradients carry about 40 fractional
# bits, so a direction weaker than this holds no usable digit.
RANK_TOLERANCE = 1e-9
DEFAULT_FRACTION_BITS = 40


@dataclass(frozen=True, eq=False)
class BatchSystem:
    """One round: row ids of the batch, the coalition's columns of those rows, its gradient."""

    round: int
    ids: IntArray
    rows: FloatArray  # (batch, columns)
    gradient: FloatArray  # (columns,)


@dataclass(frozen=True, eq=False)
class SolvedBatch:
    """Residuals, NaN where the system leaves them free."""

    round: int
    ids: IntArray
    residuals: FloatArray
    rank: int
    condition: float  # of the part of the system that has full rank
    error: float = 0.0  # about how far fixed-point rounding can move a residual


def batch_systems(view: View) -> Iterator[BatchSystem]:
    """Read the systems from the view, in the order of the rounds; a coalition's columns are put side by side."""
    tables = [view.table("features", member) for member in view.coalition if _has_features(view, member)]
    if not tables:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no features")
    features = np.hstack([table.values for table in tables])
    position = {int(row): index for index, row in enumerate(tables[0].ids)}
    gradients = _gradients_by_round(view)
    for message in view.at(steps.BATCH):
        if message.round in gradients and isinstance(message.payload, Array):
            ids = np.asarray(message.payload.values, dtype=np.int64)
            rows = features[[position[int(row)] for row in ids]]
            yield BatchSystem(message.round, ids, rows, gradients[message.round])


def solve(system: BatchSystem, fraction_bits: int | None = None) -> SolvedBatch:
    """Least squares, row by row honest: a residual that a null direction touches stays unknown."""
    n_rows = len(system.ids)
    left, singular, right = np.linalg.svd(system.rows.T, full_matrices=True)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) else 0
    target = left[:, :rank].T @ (n_rows * system.gradient)
    residuals = right[:rank].T @ (target / singular[:rank])
    free = np.linalg.norm(right[rank:], axis=0) > 1e-6  # rows of the null space
    residuals[free] = np.nan
    condition = float(singular[0] / singular[rank - 1]) if rank else float("inf")
    # Features and scores are rounded to fraction_bits, so each equation is off by about sqrt(s) units.
    unit = 2.0 ** -(DEFAULT_FRACTION_BITS if fraction_bits is None else fraction_bits)
    error = unit * float(np.sqrt(n_rows)) / float(singular[rank - 1]) if rank else float("inf")
    return SolvedBatch(system.round, system.ids, residuals, rank, condition, error)


def _has_features(view: View, member: str) -> bool:
    return any(True for _ in view.records("features", member))


def _gradients_by_round(view: View) -> dict[int, FloatArray]:
    """The members' gradients side by side, for the rounds in which every member has one."""
    by_member: list[dict[int, FloatArray]] = []
    for member in view.coalition:
        if not _has_features(view, member):
            continue
        # A member that claimed more columns than it trains on kept the whole gradient under a name of its own.
        name = "claimed-gradient" if any(True for _ in view.records("claimed-gradient", member)) else "gradient"
        found = {r.round: r.value.values for r in view.records(name, member) if isinstance(r.value, Array)}
        by_member.append(found)
    rounds = set.intersection(*(set(found) for found in by_member))
    return {number: np.concatenate([found[number] for found in by_member]) for number in rounds}
