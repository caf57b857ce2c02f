"""What smallest-norm residuals give by chance, when bounded scores leave one labeling: formulas against counting."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.linear.linear_settings import OF_A_MEMBER
from fedleak.theory.bounded_labels import (
    BoundedLabels,
    chance_accuracy,
    first_epoch_bound,
    score_bound,
    separable_share,
    tells_two_labelings,
)
from fedleak.theory.condition import State

FACTS = Facts(
    "vertical-logistic",
    (PartyFacts("bank", Role.ACTIVE, 10), PartyFacts("fintech", Role.PASSIVE, 20)),
    n_rows=120,
    batch_size=40,
    n_epochs=1,
    learning_rate=0.1,
    initialisation="zero",
    approximation="taylor",
    max_row_norm=1.0,
).seen_by(("fintech",), OF_A_MEMBER)


def test_the_law_of_chance_holds_for_unrelated_labels():
    rng = np.random.default_rng(5)
    right = []
    for _ in range(300):
        columns, signs = rng.standard_normal((60, 12)), rng.choice([-1.0, 1.0], 60)
        smallest = columns @ np.linalg.lstsq(columns, signs, rcond=None)[0]
        right.append(np.mean(np.sign(smallest) == signs))
    assert np.mean(right) == pytest.approx(chance_accuracy(12, 60), abs=0.01)
    assert chance_accuracy(12, 12) == 1.0


def test_covers_count_by_trying_all_labelings():
    rows = np.random.default_rng(2).standard_normal((7, 3))
    separable = 0
    for signs in product((-1.0, 1.0), repeat=7):
        found = linprog(np.zeros(3), A_ub=-np.array(signs)[:, None] * rows, b_ub=-np.ones(7), bounds=(None, None))
        separable += found.status == 0
    assert separable / 2**7 == pytest.approx(separable_share(3, 7))
    assert [separable_share(d, 2 * d) for d in (20, 500, 600)] == pytest.approx([0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("d", "s"), [(0, 5), (1, 9), (4, 9), (5, 9), (8, 9), (9, 9), (30, 200), (180, 200), (90, 1500)]
)
def test_covers_count_is_the_sum_of_binomials(d, s):
    assert separable_share(d, s) == pytest.approx(float(sum(comb(s - 1, k) for k in range(d)) * 2 / 2**s), rel=1e-9)


@pytest.mark.parametrize(("d", "s"), [(10, 2**40), (10**6, 2**63 - 1), (10**6, 10**7), (999_000, 10**6)])
def test_covers_count_of_any_size_takes_a_moment(d, s):
    """Exact integers of 2^40 bits took forever, and ``check`` with them."""
    assert separable_share(d, s) == pytest.approx(float(d > s / 2))


@pytest.mark.parametrize("bound", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_two_labelings_fit_iff_the_kernel_holds_such_a_vector(bound, seed):
    """One dimension of kernel, so that its vectors can be listed; against all pairs of labelings."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((5, 4)) if seed else np.vstack([np.eye(4), np.ones(4)])
    kernel = np.linalg.svd(rows.T)[2][-1]
    scales = np.linspace(0, 12 / np.abs(kernel).max(), 40001)
    from_kernel = any(tells_two_labelings(scale * kernel, bound + 1e-4) for scale in scales)
    assert from_kernel == any(
        _both_fit(rows, np.array(one), np.array(other), bound)
        for one, other in product(product((-1.0, 1.0), repeat=5), repeat=2)
        if one < other
    )


@pytest.mark.parametrize(
    ("direction", "two"),
    [
        ([3.0, 1.0], True),
        ([-5.0, 0.0], True),
        ([2.9, 1.0], False),
        ([5.1, 0.0], False),
        ([3.0, 1.1], False),
        ([1.0, 0.0], False),
    ],
)
def test_two_labelings_differ_by_4_up_to_twice_the_bound_where_they_differ(direction, two):
    assert tells_two_labelings(np.array(direction), 0.5) is two


def _both_fit(rows, one, other, bound):
    """Scores z and z' within the bound with X'(z - 2 y) = X'(z' - 2 y')."""
    matrix = np.hstack([rows.T, -rows.T])
    return linprog(np.zeros(10), A_eq=matrix, b_eq=2 * rows.T @ (one - other), bounds=(-bound, bound)).status == 0


def test_scores_stay_within_the_bound_of_lemma_4_4():
    rng = np.random.default_rng(3)
    rows, signs, weights = rng.standard_normal((30, 6)), rng.choice([-1.0, 1.0], 30), np.zeros(6)
    rows /= np.linalg.norm(rows, axis=1).max()
    for number in range(20):
        assert np.abs(rows @ weights).max() <= score_bound(0.5, 0.0, 1.0, number) + 1e-12
        batch = rng.choice(30, 10, replace=False)
        weights = weights - 0.5 * rows[batch].T @ (rows[batch] @ weights / 4 - signs[batch] / 2) / 10


def test_what_holds_fails_and_is_unknown():
    assert BoundedLabels.assess(replace(FACTS, batch_size=20)).state is State.HOLDS
    assert BoundedLabels.assess(FACTS).state is State.UNKNOWN
    assert "Cover" in BoundedLabels.assess(FACTS).conditions[-1].detail
    assert BoundedLabels.assess(replace(FACTS, batch_size=20, max_row_norm=None)).state is State.UNKNOWN
    assert BoundedLabels.assess(replace(FACTS, batch_size=20, score_noise=1.0)).state is State.FAILS
    assert BoundedLabels.assess(replace(FACTS, capabilities=frozenset())).state is State.FAILS
    piecewise = BoundedLabels.assess(replace(FACTS, batch_size=20, approximation="piecewise"))
    assert "less than 2" in piecewise.conditions[3].statement
    assert not any("larger batch" in measure.words for measure in BoundedLabels.assess(FACTS).remedies)


def test_one_round_from_zero_needs_no_norm():
    whole = replace(FACTS, batch_size=120, max_row_norm=None)
    bounded = BoundedLabels.assess(whole).conditions[3]
    assert bounded.state is State.HOLDS, bounded


def test_the_bound_of_an_epoch_is_that_of_its_last_round():
    """Three rounds: weights have moved twice before the last one."""
    assert first_epoch_bound(FACTS) == score_bound(0.1, 0.0, 1.0, 2) > score_bound(0.1, 0.0, 1.0, 1)


@pytest.mark.parametrize(
    "change", [{"batch_size": None}, {"parties": tuple(PartyFacts(p.name, p.role) for p in FACTS.parties)}]
)
def test_without_columns_or_a_batch_size_nothing_is_said_of_the_kernel(change):
    kernel = BoundedLabels.assess(replace(FACTS, **change)).conditions[-1]
    assert kernel.state is State.UNKNOWN
    assert kernel.detail == "the columns or the batch size is not known"
