"""What one gradient says about the labels of its batch, for any number of rows and any approximation of the sigmoid.

A residual is h(own + a) - y / 2, h the approximated sigmoid less 1/2, own the coalition's score, a that from outside.
One gradient gives sum_i (h_i - y_i / 2) x_i = s G over the own columns (eqs. 5 and 6 of Hu et al. 2022). The equations
are written in an orthonormal basis of the column space, so that each weighs the same; ``slack`` says how far rounding
can move each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.batch_systems import (
    DEFAULT_FRACTION_BITS,
    FLOAT_UNIT,
    RANK_TOLERANCE,
    BatchSystem,
    batch_systems,
)
from fedleak.attacks.residuals.own_side import OwnScore
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.sigmoid import CUBIC, LINEAR, TURNING_POINT, Approximation, residual

SLOPES = {Approximation.TAYLOR: 0.25, Approximation.CUBIC: LINEAR, Approximation.PIECEWISE: 1.0}


@dataclass(frozen=True, eq=False)
class LabelEquations:
    """basis.T @ (h - y / 2) = target, each equation up to its slack; h is between two values a row."""

    round: int
    rows: IntArray  # positions among the coalition's rows
    basis: FloatArray  # (rows, rank), orthonormal columns
    target: FloatArray  # (rank,)
    slack: FloatArray  # (rank,)
    own: FloatArray  # the coalition's scores


def label_equations(view: View, own: OwnScore) -> Iterator[LabelEquations]:
    """In the order of the rounds."""
    for system in batch_systems(view):
        rows = own.positions(system.ids)
        yield in_basis(system, rows, own.scores(system.round, rows), view.facts)


def in_basis(system: BatchSystem, rows: IntArray, own: FloatArray, facts: Facts) -> LabelEquations:
    left, singular, right = np.linalg.svd(system.rows, full_matrices=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) and singular[0] > 0 else 0
    basis, singular, right = left[:, :rank], singular[:rank], right[:rank]
    target = right @ (len(rows) * system.gradient) / singular
    slack = np.abs(right).sum(axis=1) * _rounding(system, facts) / singular
    return LabelEquations(system.round, rows, basis, target, slack, own)


def _rounding(system: BatchSystem, facts: Facts) -> float:
    """How far s G may be from the sum over the rows: by float64 where rows are as encoded, otherwise by units of the
    encoding in features that are divided by s and multiplied by it again, for residuals up to a few units."""
    n_rows = len(system.ids)
    if system.exact:
        return 8 * FLOAT_UNIT * n_rows
    return 4.0 * n_rows**2 * 2.0 ** -(DEFAULT_FRACTION_BITS if facts.fraction_bits is None else facts.fraction_bits)


def share_rounding(facts: Facts) -> float:
    """How far the encoding of the partners' shares moves a residual."""
    bits = DEFAULT_FRACTION_BITS if facts.fraction_bits is None else facts.fraction_bits
    return len(facts.parties) * 2.0**-bits


def smooth_part(scores: FloatArray, approximation: Approximation) -> FloatArray:
    """h: a residual without its label."""
    return residual(scores, np.zeros(len(scores)), approximation)


def noise_gain(scores: FloatArray, approximation: Approximation) -> FloatArray:
    """How far noise of 1 on what partners share moves h. The cubic exchange noises its three blocks one by one: a share
    of the residual itself, and powers of the score that meet 3 own^2 and 3 own times the coefficient (eq. 124)."""
    if approximation is Approximation.CUBIC:
        return 1 - 3 * CUBIC * (scores**2 + np.abs(scores))
    return np.full(len(scores), SLOPES[approximation])


def smooth_range(low: FloatArray, high: FloatArray, approximation: Approximation) -> tuple[FloatArray, FloatArray]:
    """Least and greatest h for scores between two values; the cubic has its extremes at the turning points as well."""
    ends = [smooth_part(low, approximation), smooth_part(high, approximation)]
    if approximation is Approximation.CUBIC:
        ends += [smooth_part(np.clip(turn, low, high), approximation) for turn in (-TURNING_POINT, TURNING_POINT)]
    return np.min(ends, axis=0), np.max(ends, axis=0)
