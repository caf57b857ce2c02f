"""How large the scores from outside can be in each round: lemma 4.4 of Hu et al. 2022, row by row.

The paper bounds the whole score of every row by one figure. A coalition knows its own scores and the lengths of its own
parts of the rows: of a whole row of norm at most R at most sqrt(R^2 - |own part|^2) lies outside. With these, a step of
rate eta moves the outside score of row i by at most eta / s * rho_i * sum_j rho_j |r_j|.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from fedleak.attacks.residuals.batch_residuals import approximation_of
from fedleak.attacks.residuals.label_equations import LabelEquations, noise_gain, smooth_range
from fedleak.attacks.residuals.own_side import OwnScore, rate_of, shrink_of
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.condition import n_outside_features
from fedleak.theory.label_signs import weight_std

LARGEST = 1e6  # a bound beyond this says as little
FAILURE = 1e-6  # what bounds on random first weights and on noise leave to chance, over all rows and rounds


@dataclass(frozen=True)
class NormBound:
    """Of whole rows. ``declared`` is False where it is only a guess from the own columns."""

    value: float
    declared: bool


def norm_bound(facts: Facts, own_norms: FloatArray) -> NormBound:
    """Where nothing is declared: as if outside columns were as long as own ones."""
    if facts.max_row_norm is not None:
        return NormBound(facts.max_row_norm * (1 + 1e-9), True)
    all_columns, own_columns = facts.n_features, facts.n_adversary_features
    ratio = all_columns / own_columns if all_columns and own_columns else 2.0
    return NormBound(float(own_norms.max(initial=0.0)) * sqrt(ratio), False)


def contradicts_bound(facts: Facts, own: OwnScore) -> bool:
    """Own parts of rows that are longer than whole rows may be: what is declared is not so, and proves nothing."""
    norms = own.norms()
    return bool(norms.max(initial=0.0) > norm_bound(facts, norms).value)


def tail(n_draws: int) -> float:
    """So many standard deviations does none of the draws exceed, with probability 1 - FAILURE."""
    return sqrt(2 * log(2 * max(n_draws, 1) / FAILURE))


class OutsideBounds:
    """Bounds on |a_i| of all rows, taken along from round to round."""

    def __init__(self, view: View, own: OwnScore) -> None:
        self._facts, self._own = view.facts, own
        self._approximation = approximation_of(view)
        norms = own.norms()
        self.norm = norm_bound(view.facts, norms)
        self._outside = np.sqrt(np.maximum(self.norm.value**2 - norms**2, 0.0))
        self._nothing_outside = n_outside_features(view.facts) == 0
        first = first_deviation(view.facts)
        self.known = first is not None
        self.bounds: FloatArray = tail(len(norms)) * (first or 0.0) * self._outside
        self._noise = noise_reach(view.facts, len(norms))
        self._number = 0
        self.exact_so_far = not self.bounds.any()  # no bound on norms was needed yet

    def before(self, equations: LabelEquations) -> FloatArray:
        """For the rows of a round's batch. Rounds of which the view has no gradient count with their worst."""
        while self._number < equations.round:
            self._advance(np.arange(len(self._outside)), self._own.largest(self._number), averaged=False)
        return np.zeros(len(equations.rows)) if self._nothing_outside else self.bounds[equations.rows]

    def after(self, equations: LabelEquations) -> None:
        """The step of a round whose batch is known."""
        self._advance(equations.rows, np.abs(equations.own), averaged=True)

    def _advance(self, rows: IntArray, own: FloatArray, *, averaged: bool) -> None:
        number, facts = self._number, self._facts
        reach = own + self.bounds[rows]
        low, high = smooth_range(-reach, reach, self._approximation)
        noise = self._noise * noise_gain(reach, self._approximation)
        pushes = self._outside[rows] * (0.5 + np.maximum(np.abs(low), np.abs(high)) + noise)
        push = float(pushes.mean() if averaged else pushes.max(initial=0.0))
        grown = abs(shrink_of(facts, number)) * self.bounds + rate_of(facts, number) * push * self._outside
        self.bounds = np.minimum(grown, LARGEST)
        self._number += 1
        self.exact_so_far = False


def first_deviation(facts: Facts) -> float | None:
    """Of one first weight outside; None where the start or the width is not known."""
    if facts.initialisation == "zero":
        return 0.0
    if facts.initialisation is None or not facts.n_features:
        return None
    return weight_std(facts.initialisation, facts.n_features)


def noise_reach(facts: Facts, n_rows: int) -> float:
    """The most that declared noise is in any row and round, whoever added it."""
    level = (facts.outside_noise or 0.0) + (facts.own_noise or 0.0)
    return level * tail(n_rows * (facts.n_rounds or 1)) if level else 0.0
