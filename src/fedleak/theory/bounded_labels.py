"""Labels of batches that have more rows than the adversary has columns: what residuals of smallest norm give by chance,
and when bounded scores leave one labeling.

**Chance.** The least-squares solution of smallest norm is the labels' projection on the own columns. For labels that
have nothing to do with them a row's own share is its leverage h, about d / s, and the others add noise of variance
h (1 - h): its sign is right with probability Phi(sqrt(d / (s - d))).

**Two labelings.** Residuals are (z - 2 y) / 4 with |z| <= B. Two labelings fit one gradient in some run iff the kernel
of X^T holds a v, 4 times the residuals' difference, with |v_i| <= 2 B where labels agree and
4 - 2 B <= |v_i| <= 4 + 2 B where they differ, at least one row of the latter kind. At B = 0 labels that a hyperplane
through zero separates in the own columns are always alone; by Cover (1965) that happens to labels tossed by coins with
probability 2^(1 - s) sum_{k < d} C(s - 1, k), one half at s = 2 d.
"""

from __future__ import annotations

from dataclasses import replace
from math import erf, exp, lgamma, log, sqrt

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, batches_per_epoch, no_noise, revealed
from fedleak.theory.countermeasures import VERTICAL
from fedleak.theory.label_signs import first_score_bound, growth
from fedleak.theory.residual_equations import batch_within_columns
from fedleak.theory.sigmoid_approximations import never_silent

SMALLEST = 1e-18  # of a sum: what adds nothing to a float any more


def chance_accuracy(n_columns: int, n_rows: int) -> float:
    """Phi(sqrt(d / (s - d))): of signs of the smallest-norm residuals, for labels unrelated to the columns."""
    if n_rows <= n_columns:
        return 1.0
    return 0.5 * (1 + erf(sqrt(n_columns / (n_rows - n_columns)) / sqrt(2)))


def separable_share(n_columns: int, n_rows: int) -> float:
    """Cover 1965, theorem 1: the share of all labelings that a hyperplane through zero separates, rows in general
    position. 2^(1 - s) sum_{k < d} C(s - 1, k), from its largest term down: any size takes a moment."""
    if n_columns >= n_rows or not n_columns:
        return float(n_columns >= n_rows)
    if 2 * n_columns > n_rows:  # C(s - 1, k) = C(s - 1, s - 1 - k), and all of them together are 2^(s - 1)
        return 1 - separable_share(n_rows - n_columns, n_rows)
    tosses, last = n_rows - 1, n_columns - 1
    largest = lgamma(tosses + 1) - lgamma(last + 1) - lgamma(tosses - last + 1) - tosses * log(2)
    total, term = 0.0, 1.0
    for k in range(last, -1, -1):
        total += term
        term *= k / (tosses - k + 1)  # C(s - 1, k - 1) / C(s - 1, k)
        if term < SMALLEST * total:
            break
    return exp(largest) * total


def score_bound(learning_rate: float, first_score: float, max_row_norm: float, round_number: int) -> float:
    """Lemma 4.4 solved: |theta x| before the round of that number, the first being 0."""
    return float((2 + first_score) * growth(learning_rate, max_row_norm) ** round_number - 2)


def tells_two_labelings(direction: FloatArray, bound: float) -> bool:
    """Whether a vector of the kernel of X^T is the difference of two labelings' residuals (times 4)."""
    size = np.abs(direction)
    agree, differ = size <= 2 * bound, (size >= 4 - 2 * bound) & (size <= 4 + 2 * bound)
    return bool(np.all(agree | differ) and np.any(differ))


class BoundedLabels(Theorem):
    """The kernel is one of the data: without rows only a batch within the own columns is certain. The attack
    ``bounded-score-labels`` certifies the rows of real batches one by one."""

    name = "hu2022/bounded-labels"
    summary = "bounded scores leave one labeling of a batch unless the own columns' kernel holds a certain vector"
    reference = Reference("fedleak", "from hu2022, lemma 4.4 and theorem 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                revealed(Capability.OWN_GRADIENT, facts),
                revealed(Capability.TWO_CLASSES, facts),
                no_noise(facts),
                _scores_bounded(facts),
                _kernel(facts),
            ),
            conclusion="every label is determined in the first epoch",
            remedies=VERTICAL,
        )


def first_epoch_bound(facts: Facts) -> float | None:
    """B in the last round of the first epoch."""
    first, rounds = first_score_bound(facts), batches_per_epoch(facts)
    if facts.initialisation == "zero" and rounds == 1:
        return 0.0
    if first is None or rounds is None or facts.learning_rate is None or facts.max_row_norm is None:
        return None
    return score_bound(facts.learning_rate, first, facts.max_row_norm, rounds - 1)


def _scores_bounded(facts: Facts) -> Condition:
    statement = "scores are bounded by less than 2 in the first epoch (lemma 4.4)"
    if facts.approximation == "piecewise":
        return replace(never_silent(facts), statement=statement)  # beyond 1/2 a residual of 0 fits both labels
    bound = first_epoch_bound(facts)
    if bound is None:
        return Condition(
            statement, State.UNKNOWN, "the start, the rate, the rows or a bound on their norm is not known"
        )
    # Past 2 one residual fits both labels; the lemma is a worst case, so that real scores may still be small.
    return Condition(statement, State.HOLDS if bound < 2 else State.UNKNOWN, f"at most {bound:.3g}")


def _kernel(facts: Facts) -> Condition:
    statement = "the kernel of the own columns holds no difference of two labelings"
    within, width = batch_within_columns(facts), facts.n_adversary_features
    if within.state is State.HOLDS:
        return Condition(statement, State.HOLDS, f"no more rows than columns: {within.detail}")
    if width is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the columns or the batch size is not known")
    share = separable_share(width, facts.batch_size)
    detail = f"the attack certifies real rows; even coin tosses are separable with probability {share:.3g} (Cover 1965)"
    return Condition(statement, State.UNKNOWN, detail)
