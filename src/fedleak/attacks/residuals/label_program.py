"""Labels of one batch as an integer program: labels are -1 or +1, and every residual's other part is within bounds.

basis.T @ (h - y / 2) = target, low <= h <= high. HiGHS searches (``scipy.optimize.milp``). Weights of the
equations prove a label: w = basis @ weights gives each row a price, and a labeling that has row i the wrong way round
loses |w_i| against the best that all bounds allow. Where that is more than the best has to lose, the label of row i is
the same in every labeling that fits. Such a proof is checked here by arithmetic, without the solver; for rows that none
reaches, the solver is asked for a labeling with the row turned round, and must find that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from fedleak.attacks.residuals.label_relaxation import Relaxation, relaxation
from fedleak.core.arrays import BoolArray, FloatArray

MARGIN = 1e-7  # what float64 and rounding could cost a proof, by the size of its prices


SHARES = (0.0, 0.02, 0.05)


class Ending(Enum):
    FOUND = "found"
    INFEASIBLE = "infeasible"
    BUDGET = "budget"


@dataclass(frozen=True, eq=False)
class LabelProgram:
    """One batch. ``known`` is -1 or +1 for labels that are proved, 0 for others."""

    basis: FloatArray  # (rows, rank), orthonormal columns
    target: FloatArray  # (rank,)
    slack: FloatArray  # (rank,)
    low: FloatArray  # (rows,)
    high: FloatArray
    known: FloatArray
    relaxation: Relaxation

    @classmethod
    def of(
        cls, basis: FloatArray, target: FloatArray, slack: FloatArray, low: FloatArray, high: FloatArray
    ) -> LabelProgram:
        """With no label known."""
        return cls(basis, target, slack, low, high, np.zeros(len(low)), relaxation(basis, target, slack))

    @property
    def open(self) -> BoolArray:
        return np.asarray(self.known == 0)


@dataclass(frozen=True, eq=False)
class Labeling:
    ending: Ending
    signs: FloatArray | None  # None where none was found
    nodes: int  # of the search, the root included


def search(program: LabelProgram, n_nodes: int) -> Labeling:
    """The first labeling that fits, if the nodes allow one. t = (1 - y) / 2 is 0 or 1."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    parts = program.relaxation.mixed(program.low, program.high)
    n_rows, n_others = len(program.known), len(parts.others_low)
    least = np.where(program.known == -1, 1.0, 0.0)
    most = np.where(program.known == 1, 0.0, 1.0)
    found = milp(
        np.zeros(n_rows + n_others),
        constraints=LinearConstraint(parts.matrix, parts.least, parts.most),
        integrality=np.concatenate([np.ones(n_rows), np.zeros(n_others)]),
        bounds=Bounds(np.concatenate([least, parts.others_low]), np.concatenate([most, parts.others_high])),
        options={"node_limit": n_nodes},
    )
    return _labeling(found, n_rows)


def _labeling(found: Any, n_rows: int) -> Labeling:
    nodes = 1 + int(found.mip_node_count or 0)
    if found.x is not None:
        return Labeling(Ending.FOUND, 1 - 2 * np.rint(found.x[:n_rows]), nodes)
    return Labeling(Ending.INFEASIBLE if found.status == 2 else Ending.BUDGET, None, nodes)


def proved_by(program: LabelProgram, weights: FloatArray) -> FloatArray:
    """The labels that any of these weights (proofs, rank) proves, beside those known before; 0 for the others.

    NaN everywhere where weights prove that nothing fits.
    """
    price = weights @ program.basis.T
    at_plus = np.maximum((program.high - 0.5) * price, (program.low - 0.5) * price)
    at_minus = np.maximum((program.high + 0.5) * price, (program.low + 0.5) * price)
    best = np.where(program.known > 0, at_plus, np.where(program.known < 0, at_minus, np.maximum(at_plus, at_minus)))
    room = MARGIN * (1 + np.abs(price).sum(axis=1))
    loss = best.sum(axis=1) - weights @ program.target + np.abs(weights) @ program.slack + room
    if np.any(loss < 0):
        return np.full(len(program.known), np.nan)
    is_plus = program.open & np.any(at_plus - at_minus > loss[:, None], axis=0)
    is_minus = program.open & np.any(at_minus - at_plus > loss[:, None], axis=0)
    if np.any(is_plus & is_minus):
        return np.full(len(program.known), np.nan)
    return np.where(program.open, is_plus * 1.0 - is_minus, program.known)


def projections(program: LabelProgram, signs: FloatArray, shared: FloatArray) -> FloatArray:
    """Weights without a linear program, some for each open row: its unit vector's projection on the columns, with a
    share of weights that price all rows rightly; and those alone."""
    own = -signs[program.open, None] * program.basis[program.open]
    largest = max(float(np.abs(program.basis @ shared).max(initial=0.0)), 1e-300)
    return np.vstack([shared[None] / largest, *(own + part / largest * shared for part in SHARES)])


def prove_all(program: LabelProgram, signs: FloatArray) -> FloatArray:
    """Weights that prove a whole labeling at once, if there are any: a linear program for the largest margin."""
    from scipy.optimize import linprog

    n_rows, rank = program.basis.shape
    facing = -signs[:, None] * program.basis  # v = facing @ weights is to be positive
    most = np.where(signs > 0, 0.5 - program.low, 0.5 + program.high)
    loss = most @ facing - program.target  # per unit of weights, slack apart
    # Unknown: weights in [-1, 1] as a difference of two parts that are not negative, and the margin.
    loss_row = np.concatenate([loss + program.slack, -loss + program.slack])
    faces = np.hstack([facing, -facing])
    is_open = program.open
    upper = np.vstack(
        [
            np.hstack([loss_row - faces[is_open], np.ones((int(is_open.sum()), 1))]),  # margin <= v - loss
            np.hstack([-faces, np.zeros((n_rows, 1))]),
        ]
    )
    found = linprog(
        np.concatenate([np.zeros(2 * rank), [-1.0]]),
        A_ub=upper,
        b_ub=np.zeros(len(upper)),
        bounds=[(0, 1)] * (2 * rank) + [(None, 1.0)],
        method="highs",
    )
    if found.x is None:
        return np.zeros(rank)
    return np.asarray(found.x[:rank] - found.x[rank : 2 * rank])


def prove_row(program: LabelProgram, row: int, sign: float) -> FloatArray | None:
    """Weights that prove one row's label where linear programming can: dual to the largest sign * u of the row, which a
    row of the other label would need. They often prove other rows as well. None where nothing fits at all."""
    low = program.low - np.where(program.known < 0, -0.5, 0.5)
    high = program.high - np.where(program.known > 0, 0.5, -0.5)
    return program.relaxation.push(row, sign, low, high)


def turned(program: LabelProgram, row: int, sign: float) -> LabelProgram:
    """The program in which one open row has the other label."""
    known = program.known.copy()
    known[row] = -sign
    return replace(program, known=known)
