"""Labels told by rank: figures by hand, intervals that hold, and a decision that does not move with the balance."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Score, Severity
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics import metrics_for
from fedleak.metrics.cell_metrics import CellsRecovered
from fedleak.metrics.exact_shares import chance_of, share_interval
from fedleak.metrics.metric import Answered
from fedleak.metrics.rank_interval import Ranking, area_interval
from fedleak.trial.decide import severity

LABELS = Secret(SecretKind.LABELS, "bank")


def judged(true, said, sure=None, *, up_to=frozenset(), candidates=(), seed=0) -> dict[str, Score]:
    """By name, the deciding score first."""
    cells, ids = np.asarray(true, dtype=float)[:, None], np.arange(len(true))
    truth = SecretValues(ids, ("label",), cells, np.array([[cells.min(), cells.max()]]))
    confidence = None if sure is None else np.asarray(sure, dtype=float)[:, None]
    values = np.asarray(said, dtype=float)[:, None]
    others = tuple(np.asarray(one, dtype=float)[:, None] for one in candidates)
    guess = Guess(LABELS, Status.PARTIAL, ids, values, confidence=confidence, candidates=others)
    answered, rng = Answered(guess, truth, Knowledge(), up_to), np.random.default_rng(seed)
    found = [metric.score(answered, rng=rng) for metric in metrics_for(SecretKind.LABELS)]
    return {score.metric: score for score in found if score is not None}


def by_score(true, scores, threshold: float = 0.0, seed: int = 0) -> dict[str, Score]:
    """A guess by the sign of a score, its confidence the logistic of its distance."""
    distance = np.asarray(scores, dtype=float) - threshold
    return judged(true, distance > 0, 1 / (1 + np.exp(-np.abs(distance))), seed=seed)


def main(found: dict[str, Score]) -> Score:
    return next(iter(found.values()))


def separated(n: int, n_positives: int, seed: int, gap: float = 3.29):
    """Normal scores a ``gap`` apart: 3.29 is an area of 0.99."""
    true = np.arange(n) < n_positives
    return true.astype(float), np.random.default_rng(seed).normal(size=n) + gap * true


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
def test_a_score_of_area_99_is_a_leak_at_any_balance(share):
    true, scores = separated(1000, int(1000 * share), seed=1)
    # A threshold that is far too low says "positive" of two rows in three, as an own score without an intercept does.
    found = by_score(true, scores, threshold=-0.4)
    assert main(found).metric == "auc"
    assert main(found).value > 0.98
    assert main(found).beats_baseline
    assert severity(main(found), SecretKind.LABELS) is Severity.HIGH
    assert found["label-accuracy"].beats_baseline == (share == 0.5), "accuracy alone would hide it"
    assert found["precision-among-surest"].beats_baseline
    assert found["precision-among-surest-tenth"].beats_baseline
    assert found["true-positive-rate-at-1-percent"].beats_baseline


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("sure", [None, 0.5, 0.9, 1.0])
def test_who_says_the_same_of_all_rows_has_learned_nothing(share, sure):
    true = (np.arange(1000) < 1000 * share).astype(float)
    for said in (0.0, 1.0):
        found = judged(true, np.full(1000, said), None if sure is None else np.full(1000, sure))
        assert found["auc"].value == found["balanced-accuracy"].value == 0.5
        assert found["auc"].ci == (0.5, 0.5)
        assert found["precision-among-surest"].value == pytest.approx(share)
        assert found["true-positive-rate-at-1-percent"].value == pytest.approx(0.01)
        assert not any(score.beats_baseline for score in found.values())


def test_figures_by_hand():
    true, scores = [1, 0, 1, 1, 0, 0, 0, 0, 0, 0], [9, 8, 7, 6, 6, 5, 4, 3, 2, 1]
    found = by_score(true, scores, threshold=6.5)
    # The positives stand before 7, 6 and 5 (one beside: a half) of seven negatives.
    assert found["auc"].value == pytest.approx((7 + 6 + 5.5) / 21)
    assert found["auc"].n == 10
    assert found["balanced-accuracy"].value == pytest.approx((2 / 3 + 6 / 7) / 2)
    assert found["label-accuracy"].value == 0.8
    assert found["label-accuracy"].baseline == 0.7
    assert found["precision-among-surest"].value == pytest.approx(2 / 3)
    assert found["precision-among-surest"].baseline == pytest.approx(0.3)
    assert (found["precision-among-surest-tenth"].value, found["precision-among-surest-tenth"].n) == (1.0, 1)
    # 0.07 false positives: one positive stands before all, the second behind one false one.
    assert found["true-positive-rate-at-1-percent"].value == pytest.approx((1 + 0.07) / 3)
    assert found["true-positive-rate-at-1-percent"].baseline == pytest.approx(1.07 / 8)


def test_confidence_is_of_the_label_that_is_named():
    found = judged([1, 1, 0, 0], [1, 0, 0, 0], [0.6, 0.55, 0.7, 0.9])
    assert found["auc"].value == 1.0, "the doubted 0 is likelier a 1 than the others"
    assert found["label-accuracy"].value == 0.75


def test_of_hard_labels_the_area_is_the_balanced_accuracy():
    rng = np.random.default_rng(2)
    true, said = rng.integers(0, 2, 60).astype(float), rng.integers(0, 2, 60).astype(float)
    for sure in (None, np.full(60, 0.8), np.ones(60)):
        found = judged(true, said, sure)
        assert found["auc"].value == pytest.approx(found["balanced-accuracy"].value)


def test_a_row_without_a_guess_is_half_a_hit_and_a_wrong_number_none():
    found = judged([1, 1, 0, 0], [np.nan, np.nan, np.nan, np.nan])
    assert found["auc"].value == found["balanced-accuracy"].value == 0.5
    assert judged([1, 1, 0, 0], [0.4, 0.4, 0.4, 0.4])["balanced-accuracy"].value == 0.0
    assert judged([1, 1, 0, 0], [0.4, 0.4, 0.4, 0.4])["auc"].value == 0.5


def test_a_few_rows_that_are_proved_are_a_leak_beside_many_that_are_open():
    true = (np.arange(1000) < 50).astype(float)
    said = np.full(1000, np.nan)
    said[:8] = 1.0
    found = judged(true, said, np.ones(1000))
    assert found["auc"].value == pytest.approx(0.58)
    assert found["auc"].beats_baseline


def test_candidates_are_ranked_by_how_many_of_them_agree():
    true = [1, 1, 0, 0]
    right, wrong = [1, 1, 0, 0], [0, 0, 1, 1]
    assert judged(true, right, candidates=(right, wrong))["auc"].value == 0.5
    assert judged(true, right, candidates=(right, wrong))["balanced-accuracy"].value == 0.5
    assert judged(true, right, candidates=(right, [1, 0, 1, 0]))["auc"].value == pytest.approx(3.5 / 4)


def test_more_than_two_classes_are_decided_by_their_mean_share():
    true = np.repeat([0.0, 1.0, 2.0], [280, 15, 5])
    found = judged(true, true)
    assert list(found) == ["balanced-accuracy", "label-accuracy"]
    assert main(found).value == 1.0
    assert main(found).baseline == pytest.approx(1 / 3)
    assert main(found).beats_baseline
    said = np.where(np.arange(300) % 2, true, 0.0)
    half = main(judged(true, said))
    assert half.value == pytest.approx((1 + 7 / 15 + 3 / 5) / 3)
    majority = main(judged(true, np.zeros(300)))
    assert majority.value == pytest.approx(1 / 3)
    assert not majority.beats_baseline


def test_one_class_numbers_and_answers_up_to_a_symmetry_are_not_ranked():
    assert list(judged(np.ones(20), np.ones(20))) == ["label-accuracy"]
    assert not main(judged(np.ones(20), np.ones(20))).beats_baseline
    numbers = np.random.default_rng(3).normal(size=30)
    assert list(judged(numbers, numbers)) == ["cells-recovered", "mean-error"]
    ordered = judged([1, 0, 1, 0], [1, 0, 1, 0], up_to=frozenset({Symmetry.ROW_ORDER}))
    assert list(ordered) == ["label-accuracy"]


def test_shares_have_exact_intervals():
    assert share_interval(12, 12) == pytest.approx((0.025 ** (1 / 12), 1.0))
    assert share_interval(0, 12) == pytest.approx((0.0, 1 - 0.025 ** (1 / 12)))
    assert share_interval(5, 20) == pytest.approx((0.0866, 0.4910), abs=1e-4)  # Clopper and Pearson's tables
    true = (np.arange(455) % 2).astype(float)
    found = judged(true, true)
    assert found["label-accuracy"].ci == pytest.approx((0.025 ** (1 / 455), 1.0))
    assert all(score.ci[0] < 1.0 for score in found.values())


def test_cells_that_are_all_recovered_have_an_interval_with_a_width():
    cells = np.random.default_rng(5).normal(size=(6, 2))
    truth = SecretValues(np.arange(6), ("a", "b"), cells, np.array([[-4.0, 4.0]] * 2))
    guess = Guess(Secret(SecretKind.FEATURES, "bank"), Status.RECOVERED, np.arange(6), cells)
    found = CellsRecovered().score(Answered(guess, truth, Knowledge()), rng=np.random.default_rng(0))
    assert found.ci == pytest.approx((0.025 ** (1 / 12), 1.0))
    assert found.beats_baseline


@pytest.mark.parametrize(("m", "n"), [(1, 1), (6, 6), (1, 99), (20, 3), (1, 30), (2, 3), (2, 6), (3, 3)])
def test_without_an_error_the_interval_is_open_below(m, n):
    """A leak is as many rows as chance alone does not order."""
    true = np.repeat([1.0, 0.0], [m, n])
    found = judged(true, true)["auc"]
    low, high = found.ci
    assert (found.value, high) == (1.0, 1.0)
    assert low < 0.99
    assert (low > 0.5) == (1 / comb(m + n, m) < 0.025)


def test_the_interval_at_half_is_that_of_the_rank_test():
    """Without ties Hanley and McNeil's variance at 1/2 is (m + n + 1) / (12 m n)."""
    area = 0.5 + 1.96 * np.sqrt((30 + 30 + 1) / (12 * 30 * 30))
    scores = np.random.default_rng(4)
    lows = {True: [], False: []}
    for _ in range(200):
        ranking = Ranking.of(scores.normal(size=60), np.arange(60) < 30)
        lows[ranking.area > area].append(area_interval(ranking)[0])
    assert all(low <= 0.5 for low in lows[False])
    assert lows[True]
    assert np.median(lows[True]) >= 0.495


def test_the_area_lies_within_its_interval_as_often_as_said():
    from scipy.stats import norm

    covered = []
    for seed in range(180):
        true, scores = separated(120, 20, seed, gap=1.5)
        low, high = by_score(true, scores)["auc"].ci
        covered.append(low <= norm.cdf(1.5 / 2**0.5) <= high)
    assert 0.92 <= np.mean(covered) < 1


def test_the_chance_of_a_table_is_that_of_all_choices():
    table, weights = np.array([[3, 1], [1, 4]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    sums = [2 * sum(row < 4 for row in chosen) + 1 for chosen in combinations(range(9), 4)]
    chance = np.mean([one >= 7 for one in sums])
    assert chance_of(table, weights, np.random.default_rng(0)) == pytest.approx(chance, abs=0.03)
    whole = chance_of(np.array([[6, 0], [0, 6]]), weights, np.random.default_rng(0))
    assert 1 / comb(12, 6) <= whole <= 5 / comb(12, 6)


TABLES = [(2, 1), (3, 1), (4, 2), (6, 3), (12, 6), (20, 1), (40, 2), (100, 5), (300, 3)]


@pytest.mark.parametrize(("n", "n_positives"), TABLES)
@pytest.mark.parametrize("form", ["continuous", "hard", "rare", "rounded"])
def test_shuffled_scores_are_rarely_a_leak(n, n_positives, form):
    """At most 5 % of 200 seeds, within three standard errors of it."""
    leaks = 0
    for seed in range(200):
        scores = np.random.default_rng(seed).normal(size=n)
        if form == "rare":
            scores = np.where(scores >= np.sort(scores)[-n_positives], 1.0, -1.0)
        scores = {"hard": np.sign(scores), "rounded": np.round(scores)}.get(form, scores)
        leaks += main(by_score((np.arange(n) < n_positives).astype(float), scores, seed=seed)).beats_baseline
    assert leaks <= 10 + 3 * (200 * 0.05 * 0.95) ** 0.5
    assert leaks <= 10, "one-sided the interval errs in 2.5 %"


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 2, 1), (50, 5, 2), (20, 20, 20)])
def test_shuffled_classes_are_rarely_a_leak(sizes):
    true = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    leaks = 0
    for seed in range(200):
        leaks += main(judged(true, np.random.default_rng(seed).permutation(true), seed=seed)).beats_baseline
    assert leaks <= 10


@pytest.mark.parametrize("rank", [1, 6, 30])
def test_one_positive_among_many_ranks_is_as_likely_there_as_anywhere(rank):
    """A normal tail gives 4 % to the first of 300, and 1 in 300 is what luck has."""
    negatives = np.ones(300, dtype=np.int64)
    negatives[rank - 1] = 0
    found = Ranking(1 - negatives, negatives)
    weights = np.stack([found.wins, np.zeros(300)])
    luck = chance_of(found.table, weights, np.random.default_rng(0))
    assert luck == pytest.approx(rank / 300, abs=0.02 if rank > 6 else 0.008)
    turned = chance_of(found.table[::-1], weights[::-1], np.random.default_rng(0))
    assert turned == pytest.approx(luck, abs=0.02)


def test_few_positives_among_many_ranks_are_rarely_a_leak_by_luck():
    draw, leaks = np.random.default_rng(1), 0
    for _ in range(300):
        positive = np.zeros(250, dtype=bool)
        positive[draw.choice(250, 3, replace=False)] = True
        found = Ranking.of(draw.random(250), positive)
        leaks += chance_of(found.table, np.stack([found.wins, np.zeros(250)]), draw) <= 0.025
    assert leaks <= 0.025 * 300 + 3 * (0.025 * 300) ** 0.5
