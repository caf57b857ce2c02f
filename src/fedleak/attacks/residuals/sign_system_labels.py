"""Labels of a party that holds no columns (Hu et al. 2022, theorem 4.1): signs that make up a known sum of own rows.

Signs z in {-1, +1} with sum_i z_i x_i = I (eq. 82) by linear algebra first, then meet in the middle: one batch of s
rows over d columns has s - d degrees of freedom and a subset-sum problem left. Batches of later epochs hold the same
labels in other combinations: stacked, they are soon a linear system of full rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.batch_residuals import approximation_of
from fedleak.attacks.residuals.batch_systems import batch_systems
from fedleak.attacks.residuals.own_side import OWN_TRAINING, OwnScore
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.sigmoid import residual
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.theory.condition import State, n_outside_features
from fedleak.theory.residual_equations import LabelsWithoutFeatures


class SignSystemLabels(Attack):
    name = "sign-system-labels"
    summary = "solves the own gradients for the labels, where no other party adds to the scores"
    reference = Reference("hu2022", "theorem 4.1")
    requires = OWN_TRAINING
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        if n_outside_features(view.facts) != 0:
            why = "parties outside the coalition hold columns, so their part of the scores is unknown"
            nothing = np.zeros(0, dtype=np.int64)
            return Guess(view.target, Status.UNDETERMINED, nothing, np.empty((0, 1)), why=why)
        own = OwnScore(view)
        signs = solve_signs(_equations(view, own), len(own.row_ids), rng)
        return _guess(view, own, signs)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = LabelsWithoutFeatures.assess(facts)
        if n_outside_features(facts) not in (None, 0):
            return Prediction(Verdict.IMPOSSIBLE, (assessment.theorem, *assessment.reasons))
        if assessment.state is State.HOLDS:
            reason = "determined by theorem 4.1; whether the search ends within its budget shows only in the run"
            verdict = Verdict.UNKNOWN if _too_long(facts) else Verdict.EXACT
            if verdict is Verdict.EXACT and _chance_of_zeros(facts) > 1 - LIKELY:
                verdict = Verdict.PARTIAL
                reason = "determined but for rows of zeros: one that scaling puts at 0 in all columns has no gradient"
            return Prediction(verdict, (reason, *assessment.reasons))
        return from_assessment(assessment, if_fails=Verdict.UNKNOWN)


def _too_long(facts: Facts) -> bool:
    """Neither a batch that can be searched nor epochs enough to stack, as far as the sizes tell."""
    width, size, epochs = facts.n_adversary_features, facts.batch_size, facts.n_epochs
    if width is None or size is None or epochs is None or facts.n_rows is None:
        return True
    if facts.fraction_bits is None or facts.fraction_bits < FEWEST_FRACTION_BITS:
        return True
    n_batches = -(-facts.n_rows // size)
    stacked = bool(facts.of(LinearFacts).shuffle) and width * (1 + epochs * (n_batches - 1)) >= facts.n_rows
    searched = size <= MAX_FREE_ROWS and _expected_doubles(width, size, n_batches) <= 1 - LIKELY
    return not (size <= width or searched or (stacked and facts.n_rows <= MAX_STACKED_ROWS))


def _chance_of_zeros(facts: Facts) -> float:
    """That one of n rows is the lowest in all of d columns, where columns are independent: n^(1 - d). Scaling to
    [0, 1], and codes that count from 0, make zeros of it, and no sum shows its label."""
    n_rows, width = facts.n_rows or 1, facts.n_adversary_features or 0
    return float(n_rows) ** (1 - width)


def _expected_doubles(width: int, size: int, n_batches: int) -> float:
    """Other choices of signs that fit some batch by coincidence: 2^s of them, of which each column lets one in 2^25
    pass, as its sum is known to about 1e-8 of its size."""
    return n_batches * 2.0 ** (size - BITS_AN_EQUATION * width)


def _equations(view: View, own: OwnScore) -> list[SignEquation]:
    """s G = sum_i (h(z_i) - y_i / 2) x_i with known scores z: what is left is sum_i y_i x_i (eq. 81)."""
    approximation = approximation_of(view)
    equations = []
    for system in batch_systems(view):
        rows = own.positions(system.ids)
        known = residual(own.scores(system.round, rows), np.zeros(len(rows)), approximation)
        total = 2 * (known @ system.rows - len(rows) * system.gradient)
        equations.append(SignEquation(rows, system.rows, total))
    return equations


def _guess(view: View, own: OwnScore, signs: Signs) -> Guess:
    known = np.isfinite(signs.values)
    status, why = Status.RECOVERED, "one choice of signs fits every batch"
    if not known.all():
        status = Status.PARTIAL if known.any() else Status.UNDETERMINED
        why = (
            f"{signs.over_budget} batches have too many open rows to search, {signs.ambiguous} have several solutions "
            "or none; the problem is as hard as subset sum"
        )
    return Guess(
        view.target,
        status,
        own.row_ids[known],
        ((signs.values[known] + 1) / 2)[:, None],
        confidence=np.ones((int(known.sum()), 1)),  # rows with more than one possible sign are left open
        evidence={
            "rows decided by the stacked linear system": signs.by_algebra,
            "rows decided by search": signs.by_search,
            "batches over the budget": signs.over_budget,
            "batches with several solutions or none": signs.ambiguous,
        },
        why=why,
    )


RELATIVE_ERROR = 1e-8  # of the sums, by rounding in fixed point
BITS_AN_EQUATION = 25
FEWEST_FRACTION_BITS = 32  # with fewer, rounding is more than the relative error that is allowed for
LIKELY = 0.95
MAX_STACKED_ROWS = 1500
MAX_FREE_ROWS = 40  # two halves of at most 2^20 sums
MAX_MATCHES = 200_000


@dataclass(frozen=True, eq=False)
class SignEquation:
    """One batch: ``sum z_i features_i = total`` over its rows."""

    rows: IntArray
    features: FloatArray  # (rows, columns)
    total: FloatArray


@dataclass(frozen=True, eq=False)
class Signs:
    values: FloatArray  # -1, +1, or NaN where it stays open
    by_algebra: int  # rows that the stacked linear system decided
    by_search: int
    over_budget: int  # batches that have too many open rows to search
    ambiguous: int  # batches with several solutions: rows that repeat, or columns of whole numbers


def solve_signs(equations: Sequence[SignEquation], n_rows: int, rng: np.random.Generator) -> Signs:
    values = np.full(n_rows, np.nan)
    if n_rows <= MAX_STACKED_ROWS:
        values = _stacked(equations, n_rows)
    by_algebra = int(np.isfinite(values).sum())
    over_budget = ambiguous = 0
    # Batches with few open rows first: what they decide shortens the others.
    for equation in sorted(equations, key=lambda one: int(np.isnan(values[one.rows]).sum())):
        is_open = np.isnan(values[equation.rows])
        if not is_open.any():
            continue
        if is_open.sum() > MAX_FREE_ROWS:
            over_budget += 1
            continue
        found = search(equation.features[is_open], _remaining_total(equation, values, is_open), rng)
        ambiguous += int(found is None or bool(np.isnan(found).any()))
        if found is not None:
            values[equation.rows[is_open]] = found
    decided = int(np.isfinite(values).sum())
    return Signs(values, by_algebra, decided - by_algebra, over_budget, ambiguous)


def _remaining_total(equation: SignEquation, values: FloatArray, is_open: BoolArray) -> FloatArray:
    known = values[equation.rows[~is_open]]
    return equation.total - known @ equation.features[~is_open]


def _stacked(equations: Sequence[SignEquation], n_rows: int) -> FloatArray:
    """All batches as one linear system; a row is decided where no null direction touches it and its value is a sign."""
    normal, right = np.zeros((n_rows, n_rows)), np.zeros(n_rows)
    for one in equations:
        normal[np.ix_(one.rows, one.rows)] += one.features @ one.features.T
        right[one.rows] += one.features @ one.total
    eigenvalues, vectors = np.linalg.eigh(normal)
    strong = eigenvalues > 1e-10 * eigenvalues[-1]
    solution = vectors[:, strong] @ ((vectors[:, strong].T @ right) / eigenvalues[strong])
    free = np.linalg.norm(vectors[:, ~strong], axis=1) > 1e-6
    is_sign = np.abs(np.abs(solution) - 1) < 0.1
    return np.where(~free & is_sign, np.sign(solution), np.nan)


def search(features: FloatArray, total: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """Meet in the middle on a random combination of the columns; every match is checked on all of them.

    Rows on which all solutions agree; NaN for the others; None where there is no solution, or too many matches.
    """
    n_rows = len(features)
    direction = rng.standard_normal(features.shape[1])
    weights, target = features @ direction, float(total @ direction)
    half = n_rows // 2
    left, right = _sums(weights[:half]), _sums(weights[half:])
    order = np.argsort(right, kind="stable")
    tolerance = RELATIVE_ERROR * (float(np.abs(weights).sum()) + abs(target))
    first = np.searchsorted(right[order], target - left - tolerance)
    last = np.searchsorted(right[order], target - left + tolerance, side="right")
    counts = last - first
    if counts.sum() == 0 or counts.sum() > MAX_MATCHES:
        return None
    left_index = np.repeat(np.arange(len(left)), counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    right_index = order[np.repeat(first, counts) + offsets]
    signs = np.hstack([_bits(left_index, half), _bits(right_index, n_rows - half)])
    allowed = RELATIVE_ERROR * (np.abs(features).sum(axis=0) + np.abs(total))
    signs = signs[np.all(np.abs(signs @ features - total) <= allowed, axis=1)]
    if not len(signs):
        return None
    return np.where(np.all(signs == signs[0], axis=0), signs[0], np.nan)


def _sums(weights: FloatArray) -> FloatArray:
    """The sums of all choices of signs; bit i of the position is 1 where sign i is +1."""
    sums = np.zeros(1)
    for weight in weights:
        sums = np.concatenate([sums - weight, sums + weight])
    return sums


def _bits(positions: IntArray, count: int) -> FloatArray:
    bits = (positions[:, None] >> np.arange(count)) & 1
    return np.asarray(2 * bits - 1, dtype=np.float64)
