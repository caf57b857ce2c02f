from __future__ import annotations

import numpy as np
import pytest

from fedleak.auditing.planner import plan
from fedleak.auditing.scenario import AdversarySpec
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.payload import Table
from fedleak.core.whole.truth import SecretValues, Served
from fedleak.metrics.branching_rate import Branching, BranchingRate, branching
from fedleak.metrics.cell_metrics import SquaredError
from fedleak.metrics.error_by_correlation import (
    ErrorByOwnCorrelation,
    ErrorByPredictionCorrelation,
    mean_absolute_correlation,
    rank_correlation,
)
from fedleak.metrics.interval_score import IntervalCoverage, IntervalScore, IntervalWidth
from fedleak.metrics.metric import Answered
from fedleak.models import LinearModel, Link, TreeModel
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.theory.prediction_bounds import count_paths, error_bound, sharp_error_bound
from fedleak.trial.attempt import Attempt, scored
from prediction_runs import run_prediction, unit_federation

IDS = np.arange(4)
TRUTH = SecretValues(IDS, ("a",), np.array([[0.0], [2.0], [4.0], [2.0]]), np.array([[0.0, 4.0]]))


def guess(values, intervals=None, kind=SecretKind.FEATURES) -> Guess:
    return Guess(Secret(kind, "fintech"), Status.PARTIAL, IDS, np.asarray(values, dtype=float), intervals=intervals)


def score(metric, answer, truth=TRUTH, knowledge=None, served=None):
    answered = Answered(answer, truth, knowledge or Knowledge(), served=served)
    return metric.score(answered, rng=np.random.default_rng(0))


def test_squared_error_is_in_units_of_the_range_and_fills_gaps_with_the_best_blind_answer():
    perfect, silent = score(SquaredError(), guess(TRUTH.values)), score(SquaredError(), guess([[np.nan]] * 4))
    assert perfect.value == 0
    assert silent.value == silent.baseline == np.mean([1, 1, 9, 1]) / 16, "that of 1: nobody knows the mean"
    assert perfect.baseline <= silent.baseline


def test_interval_score_rewards_narrow_and_punishes_missing():
    tight = np.stack([TRUTH.values - 0.1, TRUTH.values + 0.1], axis=2)
    good = score(IntervalScore(), guess(TRUTH.values, tight, SecretKind.RANGES))
    wrong = score(IntervalScore(), guess(TRUTH.values, np.clip(4 - tight[:, :, ::-1], 0, 4), SecretKind.RANGES))
    nothing = score(IntervalScore(), guess([[np.nan]] * 4, None, SecretKind.RANGES))
    assert good.value < nothing.value == good.baseline == 1.0 < wrong.value


def test_width_and_coverage_are_told_apart():
    """Cells in a column from 0 to 4: two ranges of width 1 that hold theirs, one that misses, one of everything."""
    bounds = np.array([[[0.0, 1.0]], [[1.5, 2.5]], [[0.0, 1.0]], [[0.0, 4.0]]])
    answer = guess(TRUTH.values, bounds, SecretKind.RANGES)
    width, coverage = score(IntervalWidth(), answer), score(IntervalCoverage(), answer)
    assert (width.value, width.baseline) == ((0.25 * 3 + 1) / 4, 1.0)
    assert (coverage.value, coverage.baseline) == (0.75, 1.0)
    silent = guess([[np.nan]] * 4, None, SecretKind.RANGES)
    assert score(IntervalWidth(), silent).value == score(IntervalCoverage(), silent).value == 1.0


def test_a_bound_that_is_not_finite_leaves_its_side_open():
    """Cells are 0, 2, 4, 2 in a column from 0 to 4: without bounds the width is the whole range, as for no guess."""
    nan, inf = np.nan, np.inf
    bounds = np.array([[[nan, nan]], [[1.0, nan]], [[-inf, 4.0]], [[inf, -inf]]])
    found = score(IntervalScore(), guess(TRUTH.values, bounds, SecretKind.RANGES))
    assert found.value == (1.0 + 0.75 + 1.0 + 1.0) / 4
    silent = score(IntervalScore(), guess(TRUTH.values, np.full((4, 1, 2), nan), SecretKind.RANGES))
    assert silent.value == silent.baseline == 1.0


TREE = TreeModel(
    ("own", "hidden"),
    left=np.array([1, -1, 3, -1, -1]),
    right=np.array([2, -1, 4, -1, -1]),
    feature=np.array([0, -1, 1, -1, -1]),
    threshold=np.array([0.5, 0, 0.3, 0, 0]),
    fractions=np.eye(2)[[0, 0, 0, 1, 0]],
)


def served(model, rows, confidences, own=()):
    return Served(model.to_spec(), Table(model.columns, np.arange(len(rows)), rows), confidences, own)


def rate(rows, cells, knowledge=None):
    truth = SecretValues(np.arange(len(rows)), ("hidden",), rows[:, 1:], np.array([[0.0, 1.0]]))
    answer = Guess(
        Secret(SecretKind.FEATURES, "fintech"), Status.PARTIAL, np.arange(len(cells)), np.array(cells)[:, None]
    )
    return score(BranchingRate(), answer, truth, knowledge, served(TREE, rows, TREE.confidences(rows)))


def test_the_branching_rate_is_that_of_the_true_paths_and_open_cells_turn_like_the_median():
    rows = np.array([[0.9, 0.1], [0.9, 0.8], [0.9, 0.9], [0.1, 0.8]])  # the last row passes no hidden node
    found = rate(rows, [0.2, 0.2, 0.7])
    assert (found.value, found.baseline, found.n) == (2 / 3, 2 / 3, 3)
    assert rate(rows, [0.2, 0.7, 0.7]).value == 1
    assert rate(rows, [np.nan] * 3).value == found.baseline
    known = KnownCells("fintech", np.array([1]), np.array([0]), np.array([0.8]))
    assert rate(rows, [0.2, 0.2, 0.7], Knowledge((known,))).value == 1, "a known cell turns as in the baseline"
    assert rate(rows[3:], [0.2]) is None, "no node was compared"


def test_there_is_no_branching_rate_without_a_tree():
    assert score(BranchingRate(), guess(TRUTH.values)) is None
    model = LinearModel(("a",), np.ones((1, 1)), np.zeros(1), Link.SIGMOID)
    rows = TRUTH.values
    assert score(BranchingRate(), guess(rows), served=served(model, rows, model.confidences(rows))) is None


def test_errors_that_fall_with_the_correlation_give_minus_one():
    rng = np.random.default_rng(0)
    own = rng.random(400)
    share = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    hidden = share * own[:, None] + (1 - share) * rng.random((400, 5))
    names = ("own", *(f"h{i}" for i in range(5)))
    model = LinearModel(names, np.ones((1, 6)), np.zeros(1), Link.SIGMOID)
    rows = np.column_stack([own, hidden])
    truth = SecretValues(np.arange(400), names[1:], hidden, np.array([[0.0, 1.0]] * 5))
    confidences = np.column_stack([own, 1 - own])
    confidences[7] = np.nan  # a withheld row
    errors = 0.5 - 0.1 * np.arange(5)
    for metric in (ErrorByOwnCorrelation(), ErrorByPredictionCorrelation()):
        for sign, expected in ((1, -1.0), (-1, 1.0)):
            answer = Guess(Secret(SecretKind.FEATURES, "f"), Status.PARTIAL, truth.ids, hidden + errors[::sign])
            found = score(metric, answer, truth, served=served(model, rows, confidences, ("own",)))
            assert found.value == pytest.approx(expected)
            assert found.n == 5
            assert found.ci[0] <= found.value <= found.ci[1] or found.ci[0] == pytest.approx(found.ci[1])
            few = SecretValues(truth.ids, names[1:4], hidden[:, :3], truth.ranges[:3])
            short = Guess(answer.secret, answer.status, answer.ids, answer.values[:, :3])
            assert score(metric, short, few, served=served(model, rows, confidences, ("own",))) is None, "few columns"
            assert score(metric, answer, truth) is None, "no model was served"


def test_four_columns_have_a_rank_correlation_and_three_have_none():
    ranks = np.arange(4.0)
    assert rank_correlation(ranks, ranks[::-1]) == pytest.approx(-1.0)
    assert rank_correlation(ranks[:3], ranks[:3]) is None


def test_a_range_holds_what_rounding_moved_out_of_it_and_nothing_more():
    """By a billionth of the column's range."""
    unit = TRUTH.highest - TRUTH.lowest
    for share, held in ((0.9e-9, 1.0), (1.5e-9, 0.0)):
        for low, high in (
            (TRUTH.values + share * unit, TRUTH.values + unit),
            (TRUTH.values - unit, TRUTH.values - share * unit),
        ):
            assert IntervalCoverage().between(low, high, TRUTH).tolist() == [[held]] * 4


def test_an_audit_of_a_forest_shows_error_cells_and_branching_rate():
    federation = unit_federation({"bank": 3, "fintech": 4}, PredictionSettings(model="forest", n_trees=10))
    adversary = AdversarySpec(parties=("bank",), attacks=("posterior-inference", "forest-path-restriction"))
    facts = tuple(party.facts for party in federation.parties)
    (planned,) = plan(federation, (adversary,), (), parties=facts, n_rows=200)
    run = run_prediction(planned.federation)
    for task in planned.tasks:
        view = run.view(("bank",), task.target, task.facts)
        found = task.attack().run(view, rng=np.random.default_rng(0))
        attempt = Attempt(task.attack, ("bank",), task.target, view.knowledge, found, 0.0)
        tried = scored(attempt, run.truth, np.random.default_rng(0))
        names = {score.metric for score in tried.scores}
        assert {"mse-per-feature", "cells-recovered", "branching-rate", "error-by-own-correlation"} <= names
        assert tried.cells_recovered is not None
    assert tried.scores[0].metric == "interval-score"


def test_branching_counts_only_nodes_of_target_columns_on_the_followed_path():
    truth = np.array([[0.9, 0.1], [0.9, 0.8], [0.1, 0.8]])
    guessed = np.array([[0.9, 0.2], [0.9, 0.2], [0.1, 0.2]])
    assert branching(TREE, guessed, truth, [1]) == Branching(1, 2)
    assert Branching(0, 0).rate is None
    counts = count_paths(TREE, truth[:, :1], np.array([0]), TREE.confidences(truth))
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
