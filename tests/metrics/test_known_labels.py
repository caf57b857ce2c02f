"""Labels that are known beforehand: not scored, and what they say of the others is the baseline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import Knowledge, KnownLabels
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.blind import OwnRows
from fedleak.metrics.blind_labels import gain_of_area
from fedleak.metrics.label_metrics import AreaUnderCurve, BalancedAccuracy, LabelAccuracy
from fedleak.metrics.metric import Answered
from fedleak.metrics.rank_interval import Ranking
from fedleak.trial.canaries import parts_of

LABELS = Secret(SecretKind.LABELS, "bank")
N_ROWS, N_KNOWN = 90, 12


def answered(n_classes: int = 2, *, informed: bool = True, chances=None) -> Answered:
    """One column that says the class to within noise, or nothing; the answer is right everywhere but in known rows."""
    rng, ids = np.random.default_rng(4), np.arange(N_ROWS)
    classes = (ids % n_classes).astype(float)
    column = classes + 0.8 * rng.normal(size=N_ROWS) if informed else rng.normal(size=N_ROWS)
    beside = np.stack([column, column**2], axis=1)
    known = Knowledge(labels=(KnownLabels("bank", ids[:N_KNOWN], classes[:N_KNOWN]),))
    said = np.where(ids < N_KNOWN, (classes + 1) % n_classes, classes) if chances is None else (chances > 0.5) * 1.0
    sure = None if chances is None else np.maximum(chances, 1 - chances)[:, None]
    guess = Guess(LABELS, Status.PARTIAL, ids, said[:, None], confidence=sure)
    truth = SecretValues.spanning(ids, ("label",), classes[:, None])
    return Answered(guess, truth, known, own=OwnRows(beside))


@pytest.mark.parametrize("metric", [AreaUnderCurve(), BalancedAccuracy(), LabelAccuracy()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_known_rows_do_not_count_and_the_others_are_held_against_a_classifier(metric, n_classes):
    score = metric.score(answered(n_classes), rng=np.random.default_rng(0))
    if score is None:
        assert (metric.name, n_classes) == ("auc", 3)
        return
    assert (score.value, score.n) == (1.0, N_ROWS - N_KNOWN)
    assert 0.5 < score.baseline < 0.9
    assert score.beats_baseline


def test_columns_that_say_nothing_leave_the_baseline_near_blind():
    score = AreaUnderCurve().score(answered(informed=False), rng=np.random.default_rng(0))
    assert 0.5 <= score.baseline < 0.65


def test_what_a_classifier_on_own_columns_says_is_no_leak():
    """It beats a coin by far, and its own kind by nothing."""
    case = answered()
    chances = case.blind_chances[0][:, 1]
    same = AreaUnderCurve().score(answered(chances=chances), rng=np.random.default_rng(0))
    unknowing = replace(answered(chances=chances), knowledge=Knowledge())
    assert AreaUnderCurve().score(unknowing, rng=np.random.default_rng(0)).p_value < 1e-6
    assert same.p_value > 0.3
    assert not same.beats_baseline


def test_a_row_without_a_class_is_right_once_in_as_many_classes_beside_a_classifier():
    """Three classes, nothing said: a third of each, which own columns beat by their share less a third."""
    case = answered(3)
    silent = replace(case.guess, values=np.full((N_ROWS, 1), np.nan), confidence=None)
    score = BalancedAccuracy().score(replace(case, guess=silent), rng=np.random.default_rng(0))
    assert score.value == pytest.approx(1 / 3)
    assert np.mean(score.gain_ci) == pytest.approx(1 / 3 - score.baseline)
    assert score.p_value == 1.0


def test_paired_gains_are_differences_of_areas():
    rng = np.random.default_rng(1)
    positive = rng.random(60) < 0.3
    first, second = (np.round(positive * shift + rng.normal(size=60), 1) for shift in (2.0, 0.5))
    gain = gain_of_area(first, second, positive)
    areas = [Ranking.of(one, positive).area for one in (first, second)]
    assert gain.value == pytest.approx(areas[0] - areas[1], abs=1e-12)
    assert gain.chance < 0.025 < gain_of_area(second, first, positive).chance == 1.0


def test_a_known_row_is_no_canary_and_stays_beside_the_others():
    ordinary, redrawn = parts_of(answered(), np.arange(6, 20))
    assert redrawn.truth.ids.tolist() == list(range(N_KNOWN, 20))
    assert set(range(N_KNOWN)) <= set(ordinary.truth.ids.tolist())
    assert len(ordinary.blind_chances) > 0
    assert parts_of(answered(), np.arange(3))[1] is None
