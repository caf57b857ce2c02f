from __future__ import annotations

import numpy as np

from fedleak.core.guess import Guess, Status
from fedleak.core.knowledge import Knowledge
from fedleak.core.secret import Secret, SecretKind
from fedleak.core.truth import SecretValues
from fedleak.metrics.branching import Branching, branching
from fedleak.metrics.column_correlation import mean_absolute_correlation
from fedleak.metrics.interval_score import IntervalScore
from fedleak.metrics.squared_error import SquaredError
from fedleak.models import TreeModel
from fedleak.theory.luo2021.norm_bound import error_bound, sharp_error_bound
from fedleak.theory.luo2021.path_count import count_paths

IDS = np.arange(4)
TRUTH = SecretValues(IDS, ("a",), np.array([[0.0], [2.0], [4.0], [2.0]]), np.array([[0.0, 4.0]]))


def guess(values, intervals=None, kind=SecretKind.FEATURES) -> Guess:
    return Guess(Secret(kind, "fintech"), Status.PARTIAL, IDS, np.asarray(values, dtype=float), intervals=intervals)


def score(metric, answer):
    return metric.score(answer, TRUTH, Knowledge(), up_to=frozenset(), rng=np.random.default_rng(0))


def test_squared_error_is_in_units_of_the_range_and_fills_gaps_with_the_mean():
    perfect = score(SquaredError(), guess(TRUTH.values))
    assert perfect.value == 0
    assert perfect.baseline == np.mean([4, 0, 4, 0]) / 16
    assert score(SquaredError(), guess([[np.nan]] * 4)).value == perfect.baseline


def test_interval_score_rewards_narrow_and_punishes_missing():
    tight = np.stack([TRUTH.values - 0.1, TRUTH.values + 0.1], axis=2)
    good = score(IntervalScore(), guess(TRUTH.values, tight, SecretKind.RANGES))
    wrong = score(IntervalScore(), guess(TRUTH.values, np.clip(4 - tight[:, :, ::-1], 0, 4), SecretKind.RANGES))
    nothing = score(IntervalScore(), guess([[np.nan]] * 4, None, SecretKind.RANGES))
    assert good.value < nothing.value == good.baseline == 1.0 < wrong.value


def test_branching_counts_only_nodes_of_target_columns_on_the_followed_path():
    tree = TreeModel(
        ("own", "hidden"),
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        feature=np.array([0, -1, 1, -1, -1]),
        threshold=np.array([0.5, 0, 0.3, 0, 0]),
        fractions=np.eye(2)[[0, 0, 0, 1, 0]],
    )
    truth = np.array([[0.9, 0.1], [0.9, 0.8], [0.1, 0.8]])
    guessed = np.array([[0.9, 0.2], [0.9, 0.2], [0.1, 0.2]])
    assert branching(tree, guessed, truth, [1]) == Branching(1, 2)
    assert Branching(0, 0).rate is None
    counts = count_paths(tree, truth[:, :1], np.array([0]), tree.confidences(truth))
    assert counts.n_paths == 3
    assert counts.by_own_features.tolist() == [2, 2, 1]
    assert counts.by_prediction.tolist() == [1, 1, 1]


def test_correlation_of_a_constant_column_is_0():
    rng = np.random.default_rng(0)
    known = rng.random((50, 3))
    hidden = np.column_stack([known[:, 0], np.ones(50)])
    found = mean_absolute_correlation(known, hidden)
    assert found[0] > 1 / 3
    assert found[1] == 0


def test_the_bound_of_equation_15_holds_and_half_of_it_does():
    rng = np.random.default_rng(1)
    hidden = rng.random((30, 6))
    matrix = np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    error = float(np.mean((hidden @ matrix.T @ matrix - hidden) ** 2))
    assert error <= sharp_error_bound(hidden) <= error_bound(hidden)
