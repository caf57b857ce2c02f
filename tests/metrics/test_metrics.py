"""Metrics against figures computed by hand."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Better, Score
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics import metrics_for
from fedleak.metrics.alignment import aligned
from fedleak.metrics.blind import Blind
from fedleak.metrics.cell_metrics import CellsRecovered, MeanError, SquaredError, recovered_share
from fedleak.metrics.column_results import column_results
from fedleak.metrics.label_metrics import LabelAccuracy
from fedleak.metrics.metric import Answered

NOTHING: frozenset[Symmetry] = frozenset()
LABELS = Secret(SecretKind.LABELS, "bank")
FEATURES = Secret(SecretKind.FEATURES, "bank")
ANYBODYS_ANSWERS = (Blind("always 0", np.zeros((1, 3))),)


def truth(values, ids=None) -> SecretValues:
    cells = np.array(values, dtype=float)
    ids = np.arange(len(cells)) if ids is None else np.array(ids)
    ranges = np.column_stack([cells.min(axis=0), cells.max(axis=0)])
    return SecretValues(ids, tuple(f"c{i}" for i in range(cells.shape[1])), cells, ranges)


def guess(secret, values, ids=None, candidates=()) -> Guess:
    cells = np.array(values, dtype=float)
    ids = np.arange(len(cells)) if ids is None else np.array(ids)
    return Guess(secret, Status.PARTIAL, ids, cells, candidates=tuple(np.array(c, dtype=float) for c in candidates))


def score(metric, made, true, knowledge=None, up_to=NOTHING):
    answered = Answered(made, true, knowledge or Knowledge(), up_to)
    return metric.score(answered, rng=np.random.default_rng(0))


def test_label_accuracy_and_its_majority_baseline():
    found = score(LabelAccuracy(), guess(LABELS, [[1], [0], [0], [1]]), truth([[1], [1], [0], [1]]))
    assert found.value == 0.75
    assert found.baseline == 0.75
    assert not found.beats_baseline
    assert found.n == 4


def test_a_row_without_a_guess_counts_as_the_majority_class():
    made = guess(LABELS, [[0.0], [np.nan]], ids=[3, 2])
    found = score(LabelAccuracy(), made, truth([[1], [1], [0], [0], [1]]))
    # Rows 0, 1, 2, 4 fall back to the majority 1 (three right), row 3 is guessed right.
    assert found.value == pytest.approx(4 / 5)
    assert found.baseline == pytest.approx(3 / 5)


def labels_judged(true, guessed) -> dict[str, Score]:
    made, values = guess(LABELS, guessed), truth(true)
    found = [score(metric, made, values) for metric in metrics_for(SecretKind.LABELS)]
    return {one.metric: one for one in found if one is not None}


def test_labels_that_are_numbers_are_scored_by_their_error():
    """To 4e-6 of a price: no label is equal, and all are known."""
    true = np.random.default_rng(0).normal(200.0, 80.0, (60, 1))
    found = labels_judged(true, true + 4e-6)
    assert list(found) == ["cells-recovered", "mean-error"]
    assert found["cells-recovered"].value == 1.0
    assert found["cells-recovered"].beats_baseline
    assert found["mean-error"].value < 1e-7
    whole = np.rint(true)
    assert labels_judged(whole, whole + 4e-6)["cells-recovered"].value == 1.0
    useless = labels_judged(true, np.full((60, 1), 200.0))
    assert not useless["cells-recovered"].beats_baseline
    assert not useless["mean-error"].beats_baseline


def test_labels_that_are_classes_have_no_error_but_a_hit_rate():
    true = np.arange(30)[:, None] % 3
    assert list(labels_judged(true, true)) == ["balanced-accuracy", "label-accuracy"]
    assert labels_judged(true, true + 4e-6)["label-accuracy"].value == 1.0
    assert labels_judged(true, true + 0.4)["label-accuracy"].value == 0.0


def test_candidates_score_as_their_mean_never_the_best():
    right, wrong = [[1], [0], [0], [1]], [[0], [1], [1], [0]]
    made = guess(LABELS, right, candidates=(right, wrong))
    assert score(LabelAccuracy(), made, truth(right)).value == 0.5


def test_cells_recovered_counts_one_percent_of_the_range():
    true = truth([[0.0, 5.0], [100.0, 6.0], [50.0, 7.0]])
    made = guess(FEATURES, [[0.9, 5.0], [98.0, 6.03], [10.0, 7.0]])
    found = score(CellsRecovered(), made, true)
    assert found.value == pytest.approx(3 / 6)  # 0.9 of 100 and two exact ones; 0.03 of 2 is too far
    assert found.baseline == pytest.approx(1 / 6)  # nobody names more than the 0 without the run


@pytest.mark.parametrize("value", [0.0, 7.0, -3e-5])
def test_a_constant_column_is_recovered_by_whoever_names_its_value(value):
    true = truth([[value, 0.0], [value, 10.0], [value, 20.0]])
    off = 1e-10 * (abs(value) or 1.0)
    made = guess(FEATURES, [[value + off, 0.0], [value - off, 10.0], [value + 100 * off, 3.0]])
    assert recovered_share(Answered(made, true, Knowledge())) == 4 / 6
    found = score(CellsRecovered(), made, true)
    assert found.value == 4 / 6
    first, second = column_results(Answered(made, true, Knowledge()))
    assert (first.cells_recovered, second.cells_recovered) == (2 / 3, 2 / 3)
    assert first.learnt < 1e-6, "it is the same in every row, and tells nothing of a single one"


def test_a_cell_without_a_guess_scores_as_the_baseline_and_is_not_recovered():
    true = truth([[0.0], [0.0], [0.0], [100.0]])
    made = guess(FEATURES, [[np.nan], [np.nan], [np.nan], [100.0]])
    found = score(CellsRecovered(), made, true)
    assert found.value == 1.0
    assert found.baseline == 0.75
    assert recovered_share(Answered(made, true, Knowledge())) == 0.25


def test_known_cells_count_neither_way():
    true = truth([[0.0], [10.0], [20.0]])
    known = Knowledge(cells=(KnownCells("bank", np.array([1]), np.array([0]), np.array([10.0])),))
    made = guess(FEATURES, [[0.0], [10.0], [3.0]])
    found = score(CellsRecovered(), made, true, known)
    assert found.value == 0.5
    assert found.n == 2


def test_mean_error_is_a_share_of_the_range():
    true = truth([[0.0], [10.0], [5.0]])
    found = score(MeanError(), guess(FEATURES, [[1.0], [10.0], [np.nan]]), true)
    assert found.value == pytest.approx((0.1 + 0.0 + 0.4) / 3)  # the open cell gets the best blind answer, 1
    assert found.baseline <= (0.1 + 0.9 + 0.4) / 3


def test_global_sign_is_forgiven_only_where_declared():
    true = truth([[1.0], [-2.0], [3.0]])
    made = guess(FEATURES, [[-1.0], [2.0], [-3.0]])
    assert score(CellsRecovered(), made, true).value == 0.0
    assert score(CellsRecovered(), made, true, up_to=frozenset({Symmetry.GLOBAL_SIGN})).value == 1.0


def test_row_order_is_matched_optimally_where_declared():
    rng = np.random.default_rng(3)
    cells = rng.standard_normal((12, 3))
    made = guess(FEATURES, cells[rng.permutation(12)])
    assert score(CellsRecovered(), made, truth(cells), up_to=frozenset({Symmetry.ROW_ORDER})).value == 1.0
    assert score(CellsRecovered(), made, truth(cells)).value < 0.5


def test_column_order_is_matched_optimally_where_declared():
    rng = np.random.default_rng(3)
    cells = rng.standard_normal((12, 4))
    made = guess(FEATURES, cells[:, [2, 0, 3, 1]])
    assert score(CellsRecovered(), made, truth(cells), up_to=frozenset({Symmetry.COLUMN_ORDER})).value == 1.0
    assert score(CellsRecovered(), made, truth(cells)).value < 0.5


def test_matching_columns_flatters_and_the_baseline_has_it_too():
    """Six bits of four rows each: some order of any six columns comes close."""
    rng = np.random.default_rng(4)
    order = frozenset({Symmetry.COLUMN_ORDER})
    gains = []
    for _ in range(40):
        cells = rng.integers(0, 2, (4, 6)).astype(float)
        found = score(MeanError(), guess(FEATURES, rng.permuted(cells, axis=0)), truth(cells), up_to=order)
        plain = score(MeanError(), guess(FEATURES, cells), truth(cells))
        assert found.baseline <= plain.baseline
        gains.append(found.gain)
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(len(gains))


def test_a_rotation_is_undone_where_declared():
    rng = np.random.default_rng(4)
    cells = rng.standard_normal((12, 3))
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    made = guess(FEATURES, cells @ turn)
    assert score(MeanError(), made, truth(cells), up_to=frozenset({Symmetry.ROTATION})).value < 1e-12
    assert score(MeanError(), made, truth(cells)).value > 0.05


def test_the_interval_covers_the_true_rate_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(100):
        labels = rng.integers(0, 2, (200, 1)).astype(float)
        made = np.where(rng.random((200, 1)) < 0.7, labels, 1 - labels)
        low, high = score(LabelAccuracy(), guess(LABELS, made), truth(labels)).ci
        covered += low <= 0.7 <= high
    assert 85 <= covered <= 100


def test_a_guess_of_the_wrong_width_is_refused():
    with pytest.raises(ValueError, match="must have 2 columns; got 1"):
        score(MeanError(), guess(FEATURES, [[1.0]]), truth([[1.0, 2.0]]))


@pytest.mark.parametrize("metric", [CellsRecovered(), MeanError(), SquaredError()])
def test_an_infinite_guess_is_no_guess_and_a_wild_one_has_a_finite_error(metric):
    true = truth(np.array([[0.0], [1.0], [2.0], [3.0]]))
    silent = score(metric, guess(FEATURES, np.full((4, 1), np.nan)), true)
    assert score(metric, guess(FEATURES, np.array([[inf], [-inf], [nan], [inf]])), true) == silent
    wild = score(metric, guess(FEATURES, np.array([[1e300], [1.0], [2.0], [3.0]])), true)
    assert wild.value > silent.value if metric.better is Better.HIGHER else not wild.beats_baseline


def test_nothing_unknown_is_nothing_to_score():
    true = truth(np.array([[0.0], [1.0]]))
    everything = Knowledge(cells=(KnownCells("bank", true.ids, np.array([0, 0]), true.values[:, 0]),))
    for metric in (CellsRecovered(), MeanError(), SquaredError()):
        assert score(metric, guess(FEATURES, true.values), true, everything) is None


@pytest.mark.parametrize("wrong", [{"value": nan}, {"value": inf}, {"baseline": nan}, {"ci": (nan, 1.0)}])
def test_a_score_that_is_not_finite_cannot_be(wrong):
    figures = {"value": 0.5, "baseline": 0.4, "ci": (0.4, 0.6)} | wrong
    with pytest.raises(ValueError, match="must be finite"):
        Score("mse", better=Better.LOWER, n=3, **figures)


def test_a_guess_is_aligned_once_for_all_metrics_and_nobody_can_change_it(monkeypatch):
    rng = np.random.default_rng(6)
    cells = rng.standard_normal((12, 3))
    made = guess(FEATURES, cells[rng.permutation(12)], candidates=(cells[::-1], cells[::2].repeat(2, axis=0)))
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return aligned(*arguments)

    monkeypatch.setattr("fedleak.metrics.metric.aligned", counted)
    monkeypatch.setattr(Answered, "blinds", ANYBODYS_ANSWERS)  # these are aligned as well
    answered = Answered(made, truth(cells), Knowledge(), frozenset({Symmetry.ROW_ORDER}))
    scores = [one.score(answered, rng=rng) for one in (CellsRecovered(), MeanError(), SquaredError())]
    assert all(found is not None for found in scores)
    assert recovered_share(answered) == scores[0].value
    assert len(calls) == 2, "each candidate once"
    for array in (answered.unknown, *answered.answers):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
