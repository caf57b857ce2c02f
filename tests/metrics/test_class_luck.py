"""Parts whose names stay open: two rules of the same own columns go together by luck, what is right does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.blind import OwnRows
from fedleak.metrics.class_luck import parts_by_luck
from fedleak.metrics.label_metrics import LabelAccuracy
from fedleak.metrics.metric import LUCK, Answered
from fedleak.metrics.row_tests import row_tests

NAMES = frozenset({Symmetry.CLASS_NAMES})
N_ROWS, N_SEEDS = 60, 80


def as_cells(labels: np.ndarray) -> np.ndarray:
    return labels.astype(np.float64)[:, None]


def answered(
    said: np.ndarray, true: np.ndarray, own: np.ndarray | None, up_to: frozenset[Symmetry] = NAMES
) -> Answered:
    ids = np.arange(len(true))
    truth = SecretValues.spanning(ids, ("label",), as_cells(true))
    guess = Guess(Secret(SecretKind.LABELS, "bank"), Status.PARTIAL, ids, as_cells(said))
    return Answered(guess, truth, Knowledge(), up_to, own=None if own is None else OwnRows(own))


def by_a_rule(own: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Classes that own columns tell half of."""
    inclined = own @ rng.standard_normal((own.shape[1], n_classes)) + 0.7 * rng.standard_normal((len(own), n_classes))
    return np.argmax(inclined, axis=1)


def chance(one: Answered) -> float:
    score = LabelAccuracy().score(one, rng=np.random.default_rng(0))
    assert score is not None
    (test,) = row_tests(one, score, rng=np.random.default_rng(1))
    return test.p_value


def false_leaks(n_classes: int, *, own_columns_count: bool) -> int:
    found = 0
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, n_classes])
        own = rng.standard_normal((N_ROWS, 3))
        said, true = by_a_rule(own, n_classes, rng), by_a_rule(own, n_classes, rng)
        found += chance(answered(said, true, own if own_columns_count else None)) <= LUCK
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_by_another_rule_of_own_columns_are_luck(n_classes):
    assert false_leaks(n_classes, own_columns_count=True) <= 7, "of 80 at 2.5 %: more in 1 of 1,000 cases"
    assert false_leaks(n_classes, own_columns_count=False) >= 12, "rows in other orders alone take it for a leak"


@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_is_right_is_no_luck_though_own_columns_tell_half_of_it(n_classes):
    rng = np.random.default_rng(n_classes)
    own = rng.standard_normal((N_ROWS, 3))
    true = by_a_rule(own, n_classes, rng)
    said = (true + 1) % n_classes
    said[:3] = (said[:3] + 1) % n_classes
    assert chance(answered(said, true, own)) < 1e-3


def test_what_anybody_reads_off_one_own_column_is_luck():
    rng = np.random.default_rng(4)
    own = rng.standard_normal((N_ROWS, 2))
    true = (own[:, 0] > 0).astype(np.int64)
    assert chance(answered(1 - true, true, own[:, :1])) > LUCK, "a cut of the only column there is"


def test_rows_without_an_answer_are_in_no_part():
    rng = np.random.default_rng(5)
    own, true = rng.standard_normal((N_ROWS, 3)), rng.integers(2, size=N_ROWS)
    said = true.astype(np.float64)
    said[::2] = np.nan
    assert parts_by_luck(answered(said, true, own)) < 1e-3
    assert parts_by_luck(answered(np.full(N_ROWS, np.nan), true, own)) == 1.0


def test_without_own_columns_or_with_names_the_score_says_how_likely_luck_is():
    rng = np.random.default_rng(6)
    own, true = rng.standard_normal((N_ROWS, 3)), rng.integers(2, size=N_ROWS)
    assert parts_by_luck(answered(true, true, None)) == 0.0
    named = answered(true, true, own, frozenset())
    assert chance(named) == chance(answered(true, true, None, frozenset()))


def test_of_equally_good_answers_the_likeliest_decides():
    rng = np.random.default_rng(7)
    own, true = rng.standard_normal((N_ROWS, 3)), rng.integers(2, size=N_ROWS)
    right, wrong = answered(true, true, own), np.roll(true, 1)
    both = replace(right, guess=replace(right.guess, candidates=tuple(as_cells(one) for one in (true, wrong))))
    assert parts_by_luck(right) < 1e-3
    assert parts_by_luck(both) == pytest.approx(parts_by_luck(answered(wrong, true, own)), abs=0.1)
    assert parts_by_luck(both) > 0.05


def test_of_columns_that_tell_nothing_luck_is_any_parts_of_the_same_sizes():
    """Four and four of eight rows, up to their names: 2 of 70 ways are right."""
    true = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    own = np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0])[:, None]  # at right angles to the truth
    assert parts_by_luck(answered(1 - true, true, own)) == pytest.approx(2 / 70, abs=0.025)
    two_off = np.array([1, 0, 0, 1, 0, 1, 0, 1])  # 16 ways have two rows wrong, by either name
    assert parts_by_luck(answered(two_off, true, own)) == pytest.approx(34 / 70, abs=0.12)
