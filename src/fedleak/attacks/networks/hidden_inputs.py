"""What goes into the first fully connected layer, row by row (Jin et al. 2021, step II), by streamed normal equations.

With every row's v_n known, a batch's weight gradient is linear in the inputs h_n: G_t = sum of s_tn v_n h_n^T. Its
least squares over all batches are (V V^T o S^T S) H = R with R[n] = sum of s_tn G_t^T v_n; no G_t is kept. By the Schur
product theorem the matrix is positive definite where S^T S is and no v_n is zero: the paper's N < d_2 is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.batch_indicators import Batches, Unmixed, solve_symmetric
from fedleak.attacks.networks.layer_gradients import GradientStream
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value

ROUNDING_ZERO = 1e-12
SAME = 1e-6  # singular values of unit vectors below which one of them is among the others
CAUTION = 10.0  # the v_n have errors of their own: rows were off by up to 10 times what the misfit alone lets expect


@dataclass(frozen=True, eq=False)
class HiddenInputs(Value):
    """``values``: h_n of each row, NaN where it is not determined. ``expected_error``: of each row, relative to it, as
    the misfit of all equations lets expect."""

    values: FloatArray
    expected_error: FloatArray
    residual: float  # of all equations, as a share of their right side
    rank: int

    @property
    def determined(self) -> BoolArray:
        return np.asarray(np.isfinite(self.expected_error))


def hidden_inputs(
    batches: Batches, gradients: GradientStream, found: Unmixed, lines: Sequence[FloatArray] | None = None
) -> HiddenInputs:
    """``lines``: for each row a basis of where its v_n lies, empty where it is zero. What rows that are not determined
    may add to a batch is projected out; without ``lines`` their batches say nothing."""
    system = _system(batches, gradients, found, lines)
    solved = solve_symmetric(system.matrix, system.right, ROUNDING_ZERO)
    width = system.right.shape[1]
    # At the optimum |G - fit|^2 = |G|^2 - <R, H>; below what float64 keeps of the difference it is zero.
    misfit = max(0.0, system.squared - float((system.right * solved.values).sum()))
    variance = misfit / max(1, system.n_equations - solved.rank * width)
    length = np.maximum(np.linalg.norm(solved.values, axis=1), 1e-300)
    known = solved.determined & found.determined
    expected = CAUTION * np.sqrt(variance * width * solved.inverse_diagonal) / length
    return HiddenInputs(
        np.where(known[:, None], solved.values, np.nan),
        np.where(known, expected, np.nan),
        float(np.sqrt(misfit / max(system.squared, 1e-300))),
        solved.rank,
    )


@dataclass(frozen=True, eq=False)
class NormalEquations(Value):
    matrix: FloatArray
    right: FloatArray
    squared: float  # of all right sides
    n_equations: int


def _system(
    batches: Batches, gradients: GradientStream, found: Unmixed, lines: Sequence[FloatArray] | None
) -> NormalEquations:
    n_rows, unknown = len(batches.ids), ~found.determined
    own = np.where(unknown[:, None], 0.0, found.values)
    matrix, right = np.zeros((n_rows, n_rows)), np.zeros((n_rows, 0))
    squared, n_equations = 0.0, 0
    for number, gradient in zip(range(len(batches.counts)), gradients(), strict=False):
        held = batches.rows(number)
        mine, weight = batches.counts[number, held, None] * own[held], gradient.weight
        if not right.size:
            right = np.zeros((n_rows, weight.shape[1]))
        if unknown[held].any():
            outside = _outside(held[unknown[held]], lines, weight.shape[0])
            mine, weight = mine @ outside, outside.T @ weight
        right[held] += mine @ weight
        matrix[np.ix_(held, held)] += mine @ mine.T
        squared += float((weight**2).sum())
        n_equations += weight.size
    return NormalEquations(matrix, right, squared, n_equations)


def _outside(rows: IntArray, lines: Sequence[FloatArray] | None, width: int) -> FloatArray:
    """(width, rest): a basis of what is orthogonal to all that these rows' v_n may be; empty where that is anything."""
    if lines is None:
        return np.zeros((width, 0))
    taken = np.concatenate([lines[row] for row in rows])
    vectors, values, _ = np.linalg.svd(taken.T, full_matrices=True)
    return np.asarray(vectors[:, int((values > SAME).sum()) :])
