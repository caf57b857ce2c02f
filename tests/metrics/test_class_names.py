"""Labels up to the names of their classes: matched as well as can be, and no better than that for nothing."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.label_metrics import AreaUnderCurve, LabelAccuracy
from fedleak.metrics.metric import Answered

UP_TO = frozenset({Symmetry.CLASS_NAMES})


def accuracy(said, true, metric=None):
    ids = np.arange(len(true))
    truth = SecretValues.spanning(ids, ("label",), np.array(true, dtype=float)[:, None])
    answer = Guess(Secret(SecretKind.LABELS, "bank"), Status.PARTIAL, ids, np.array(said, dtype=float)[:, None])
    return (metric or LabelAccuracy()).score(Answered(answer, truth, Knowledge(), UP_TO), rng=np.random.default_rng(0))


def test_names_of_classes_do_not_matter():
    true = [0, 0, 1, 1, 2, 2]
    assert accuracy([2, 2, 0, 0, 1, 1], true).value == 1.0
    assert accuracy([2, 2, 0, 0, 1, 0], true).value == 5 / 6


def test_two_parts_never_share_a_name():
    """Four parts of two classes: two of them have no class, and their rows are wrong."""
    assert accuracy([0, 1, 2, 3], [0, 0, 1, 1]).value == 0.5


def test_a_row_without_a_guess_has_the_majority():
    assert accuracy([1, np.nan, np.nan, 0], [0, 0, 0, 1]).value == 1.0


def test_the_baseline_is_matched_as_well():
    rng = np.random.default_rng(1)
    true = rng.integers(2, size=40)
    found = accuracy(rng.integers(2, size=40), true)
    assert found.baseline >= max(true.mean(), 1 - true.mean())
    assert accuracy(true, true, AreaUnderCurve()) is None
