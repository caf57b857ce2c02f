"""Bins, losses, growth of trees and the model that comes out, against naive computations and XGBoost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import RepeatedKFold

from fedleak.core.errors import InputError
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting.binning import MISSING, BinnedColumns, quantile_thresholds
from fedleak.models.boosting.booster import CentralTraining, Sampling, listed_candidates, train_centrally
from fedleak.models.boosting.growth import Rule
from fedleak.models.boosting.losses import Objective, derivatives, objective_for, probabilities, randomised
from fedleak.models.interpret import interpret, load_model, save_model

RULE = Rule(depth=3, l2=1.0, min_gain=0.0, min_child_weight=1.0, learning_rate=0.3)
TABLES = {
    "breast": (load_breast_cancer, Objective.LOGISTIC, 2),
    "iris": (load_iris, Objective.SOFTMAX, 3),
    "diabetes": (load_diabetes, Objective.SQUARED, 1),
}


def trained(rows: np.ndarray, labels: np.ndarray, objective: Objective, n_classes: int, **changes) -> BoostedModel:
    training = CentralTraining(objective, n_classes, **{"n_rounds": 5, "rule": RULE, **changes})
    half = rows.shape[1] // 2
    names = tuple(f"c{number}" for number in range(rows.shape[1]))
    rngs = [np.random.default_rng(number) for number in range(2)]
    return train_centrally([rows[:, :half], rows[:, half:]], labels, names, training, rngs)


def of_table(name: str, **changes) -> tuple[BoostedModel, np.ndarray, np.ndarray]:
    load, objective, n_classes = TABLES[name]
    rows, labels = load(return_X_y=True)
    return trained(rows, labels, objective, n_classes, **changes), rows, labels


class TestBins:
    def test_every_bin_has_about_as_many_rows(self):
        column = np.random.default_rng(0).standard_normal(640)
        thresholds = quantile_thresholds(column, 32)
        assert len(thresholds) == 31
        assert np.isin(thresholds, column).all()
        bins = BinnedColumns.of(column[:, None], [thresholds]).bins[:, 0]
        assert np.array_equal(np.bincount(bins), np.full(32, 20))

    @pytest.mark.parametrize("column", [np.full(9, 2.5), np.full(9, np.nan)])
    def test_a_column_of_one_value_offers_nothing(self, column):
        assert len(quantile_thresholds(column, 8)) == 0
        assert len(BinnedColumns.of(column[:, None], [quantile_thresholds(column, 8)]).candidates()) == 0

    def test_few_values_have_a_bin_each(self):
        assert quantile_thresholds(np.array([3.0, 1.0, 2.0, 2.0]), 32).tolist() == [1.0, 2.0]

    def test_bins_keep_their_least_number_of_rows(self):
        column = np.random.default_rng(1).integers(0, 50, 200).astype(float)
        thresholds = quantile_thresholds(column, 64, min_rows=15)
        bins = BinnedColumns.of(column[:, None], [thresholds]).bins[:, 0]
        assert len(thresholds) > 3
        assert np.bincount(bins).min() >= 15

    def test_missing_cells_go_either_way(self):
        column = np.array([1.0, np.nan, 2.0, 3.0])
        own = BinnedColumns.of(column[:, None], [quantile_thresholds(column, 4)])
        assert own.bins[1, 0] == MISSING
        offered = own.candidates()
        ways = {
            tuple(own.goes_left(np.arange(4), int(c), int(k), bool(m)))
            for c, k, m in zip(offered.column, offered.cut, offered.missing_left, strict=True)
        }
        present = {(True, False, False, False), (True, False, True, False), (True, False, True, True)}
        assert ways == present | {(True, True, False, False), (True, True, True, False)}

    def test_candidates_are_shuffled_within_columns_or_over_all(self):
        rows = np.random.default_rng(2).standard_normal((50, 3))
        own = BinnedColumns.of(rows, [quantile_thresholds(column, 8) for column in rows.T])
        within = listed_candidates(own, np.random.default_rng(0), by_column=True)
        over_all = listed_candidates(own, np.random.default_rng(0), by_column=False)
        assert np.array_equal(within.column, np.sort(within.column))
        assert not np.array_equal(within.cut, own.candidates().cut)
        assert not np.array_equal(over_all.column, np.sort(over_all.column))
        for listed in (within, over_all):
            assert sorted(zip(listed.column, listed.cut, strict=True)) == sorted(
                zip(own.candidates().column, own.candidates().cut, strict=True)
            )


class TestLosses:
    @pytest.mark.parametrize(("objective", "n_scores"), [(Objective.LOGISTIC, 1), (Objective.SOFTMAX, 3)])
    def test_gradients_are_those_of_the_loss(self, objective, n_scores):
        rng = np.random.default_rng(3)
        scores, labels = rng.standard_normal((6, n_scores)), rng.integers(0, max(n_scores, 2), 6)

        def loss(at: np.ndarray) -> np.ndarray:
            return -np.log(probabilities(objective, at)[np.arange(6), labels])

        g, h = derivatives(objective, scores, labels)
        for column in range(n_scores):
            step = np.zeros_like(scores)
            step[:, column] = 1e-5
            slope = (loss(scores + step) - loss(scores - step)) / 2e-5
            assert np.allclose(g[:, column], slope, atol=1e-8)
        assert (h > 0).all()
        assert (h <= (0.25 if n_scores == 1 else 0.5)).all()

    @pytest.mark.parametrize(
        ("wanted", "labels", "found"),
        [
            ("auto", np.array([0, 1, 1]), Objective.LOGISTIC),
            ("auto", np.array([0, 2, 1]), Objective.SOFTMAX),
            ("auto", np.array([0.5, 2.0]), Objective.SQUARED),
            ("squared", np.array([0, 1]), Objective.SQUARED),
        ],
    )
    def test_the_objective_follows_from_the_labels(self, wanted, labels, found):
        assert objective_for(wanted, labels) is found

    @pytest.mark.parametrize(
        ("wanted", "labels", "why"),
        [
            ("auto", np.array([1, 1]), "two different values or more; got 1"),
            ("logistic", np.array([0, 1, 2]), "must be 0 or 1"),
            ("softmax", np.array([0.5, 1.5]), "must be classes"),
        ],
    )
    def test_labels_that_cannot_be_learnt_are_refused(self, wanted, labels, why):
        with pytest.raises(InputError, match=why):
            objective_for(wanted, labels)


def naive_gain(g: np.ndarray, h: np.ndarray, left: np.ndarray, l2: float) -> float:
    worth = [g[side].sum() ** 2 / (h[side].sum() + l2) for side in (left, ~left)]
    return float(sum(worth) - g.sum() ** 2 / (h.sum() + l2))


def test_every_split_of_the_first_tree_is_the_best_there_is():
    model, rows, labels = of_table("breast", n_rounds=1)
    g, h = (part[:, 0] for part in derivatives(Objective.LOGISTIC, np.zeros((len(labels), 1)), labels))
    thresholds = [quantile_thresholds(column, 32) for column in rows.T]
    at, checked = {0: np.ones(len(rows), dtype=bool)}, 0
    for node in np.flatnonzero(model.left >= 0):
        here = at[int(node)]
        left = rows[:, model.feature[node]] <= model.threshold[node]
        best = max(
            naive_gain(g[here], h[here], rows[here, column] <= threshold, 1.0)
            for column, edges in enumerate(thresholds)
            for threshold in edges
            if min(h[here & (rows[:, column] <= threshold)].sum(), h[here & (rows[:, column] > threshold)].sum()) >= 1
        )
        assert naive_gain(g[here], h[here], left[here], 1.0) == pytest.approx(best, rel=1e-9)
        at[int(model.left[node])], at[int(model.right[node])] = here & left, here & ~left
        checked += 1
    assert checked >= 4
    for leaf in np.flatnonzero(model.left < 0):
        here = at[int(leaf)]
        assert model.weight[leaf] == pytest.approx(-0.3 * g[here].sum() / (h[here].sum() + 1.0), rel=1e-9)


def accuracy(predicted: np.ndarray, labels: np.ndarray, objective: Objective) -> float:
    if objective is Objective.SQUARED:
        return 1 - float(((predicted - labels) ** 2).sum() / ((labels - labels.mean()) ** 2).sum())
    return float((predicted == labels).mean())


@pytest.mark.parametrize("name", TABLES)
def test_as_good_as_xgboost(name):
    """The histogram method with the same parameters, mean over 5 times 5 folds."""
    xgboost = pytest.importorskip("xgboost")
    load, objective, n_classes = TABLES[name]
    rows, labels = load(return_X_y=True)
    same = {"max_depth": 3, "reg_lambda": 1.0, "learning_rate": 0.3, "min_child_weight": 1.0, "gamma": 0.0}
    same |= {"max_bin": 32, "tree_method": "hist", "n_estimators": 10, "n_jobs": 1}
    kind = xgboost.XGBRegressor if objective is Objective.SQUARED else xgboost.XGBClassifier
    start = {} if objective is Objective.SQUARED else {"base_score": 0.5}
    ours, theirs = [], []
    for train, test in RepeatedKFold(n_splits=5, n_repeats=5, random_state=0).split(rows):
        model = trained(rows[train], labels[train], objective, n_classes, n_rounds=10)
        answer = model.confidences(rows[test])
        predicted = answer[:, 0] if objective is Objective.SQUARED else answer.argmax(axis=1)
        ours.append(accuracy(predicted, labels[test], objective))
        fitted = kind(**same, **start).fit(rows[train], labels[train])
        theirs.append(accuracy(fitted.predict(rows[test]), labels[test], objective))
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.01
    assert np.mean(ours) > (0.35 if objective is Objective.SQUARED else 0.9)


@pytest.mark.parametrize("name", TABLES)
def test_a_model_survives_being_stored(name, tmp_path):
    model, rows, _ = of_table(name)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert np.array_equal(again.confidences(rows), model.confidences(rows))
    assert again.n_classes == model.n_classes


def test_a_model_takes_unscaled_rows():
    rows, labels = load_breast_cancer(return_X_y=True)
    shift, scale = rows.mean(axis=0), rows.std(axis=0)
    model = trained((rows - shift) / scale, labels, Objective.LOGISTIC, 2)
    unscaled = model.behind_scaler(shift, scale).scores(rows)
    assert np.mean(np.isclose(unscaled, model.scores((rows - shift) / scale))) > 0.95  # thresholds are values: rounding


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda a: np.where(a >= 0, 0, a)),
        ("right", lambda a: np.where(a >= 0, 10_000, a)),
        ("feature", lambda a: np.where(a >= 0, 99, a)),
        ("score_of_tree", lambda a: a + 1),
        ("sizes", lambda a: a + 1),
        ("weight", lambda a: a[:-1]),
    ],
)
def test_a_model_that_is_none_is_refused(name, change):
    spec = of_table("breast")[0].to_spec()
    damaged = type(spec)(spec.kind, spec.config, {**spec.arrays, name: change(spec.arrays[name])})
    with pytest.raises(InputError, match=r"boosted tree"):
        interpret(damaged)


def test_missing_cells_are_learnt_from():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 300)
    rows = rng.standard_normal((300, 2))
    rows[labels == 1, 1] = np.where(rng.random(int(labels.sum())) < 0.9, np.nan, 0.0)  # that it is missing tells
    model = trained(rows, labels, Objective.LOGISTIC, 2)
    assert np.mean(model.confidences(rows).argmax(axis=1) == labels) > 0.93


def test_sampled_trees_are_others_and_still_learn():
    plain, rows, labels = of_table("breast")
    for sampling in (Sampling(row_share=0.6), Sampling(column_share=0.4), Sampling(goss=True)):
        model, *_ = of_table("breast", sampling=sampling)
        assert not np.array_equal(model.scores(rows), plain.scores(rows))
        assert np.mean(model.confidences(rows).argmax(axis=1) == labels) > 0.93


@pytest.mark.parametrize("n_classes", [2, 4])
def test_randomised_labels_stay_with_their_odds(n_classes):
    labels = np.arange(40_000) % n_classes
    shown = randomised(labels, n_classes, np.log(3), np.random.default_rng(0))
    counts = np.bincount((shown - labels) % n_classes, minlength=n_classes) / len(labels)
    wanted = np.array([3, *[1] * (n_classes - 1)]) / (n_classes + 2)
    assert np.allclose(counts, wanted, atol=0.01)


def test_leaves_are_fitted_to_the_true_labels_of_trees_grown_on_others():
    plain, rows, labels = of_table("breast")
    grafted, *_ = of_table("breast", label_epsilon=1.0)
    right = [np.mean(model.confidences(rows).argmax(axis=1) == labels) for model in (plain, grafted)]
    assert not np.array_equal(plain.threshold, grafted.threshold, equal_nan=True)
    assert 0.85 < right[1] <= right[0]


def test_goss_counts_small_gradients_for_those_left_out():
    g = np.random.default_rng(5).standard_normal(1000)
    factors = Sampling(goss=True, goss_top=0.2, goss_other=0.1).factors(g, np.random.default_rng(0))
    assert sorted(set(factors)) == [0.0, 1.0, 8.0]
    assert (np.abs(g[factors == 1]).min() >= np.abs(g[factors != 1])).all()
    assert factors.sum() == pytest.approx(1000)


def test_siblings_by_subtraction_are_the_same_trees():
    asked = Rule(depth=4, l2=1.0, min_gain=0.0, min_child_weight=1.0, learning_rate=0.3, subtract_siblings=False)
    derived = Rule(depth=4, l2=1.0, min_gain=0.0, min_child_weight=1.0, learning_rate=0.3)
    first, rows, _ = of_table("breast", rule=asked)
    second, *_ = of_table("breast", rule=derived)
    assert np.array_equal(first.scores(rows), second.scores(rows))
