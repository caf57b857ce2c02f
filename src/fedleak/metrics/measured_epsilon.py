"""How large a privacy budget's epsilon is at least, by what an attack said of labels that were drawn at random."""

from __future__ import annotations

from math import inf, log

import numpy as np

from fedleak.metrics.exact_shares import share_interval
from fedleak.metrics.label_metrics import CLASS_TOLERANCE
from fedleak.metrics.metric import Answered


def measured_epsilon(answered: Answered, *, delta: float) -> float | None:
    """The lower end, 95 %: None where there are not two classes.

    (epsilon, delta)-privacy towards one label bounds true by false positives: TPR <= e^epsilon FPR + delta, and the
    same of negatives (Kairouz, Oh and Viswanath 2015). Either rate has its exact one-sided bound at 97.5 %; both
    inequalities use the same two, so together they hold at 95 %.
    """
    true = answered.truth.values
    classes = np.unique(true)
    if len(classes) != 2:
        return None
    named = np.mean([np.abs(cells - classes[1]) <= CLASS_TOLERANCE for cells in answered.answers], axis=0) > 0.5
    positive = true == classes[1]
    low, _ = share_interval(int((named & positive).sum()), int(positive.sum()))
    _, high = share_interval(int((named & ~positive).sum()), int((~positive).sum()))
    return max(0.0, _ratio(low - delta, high), _ratio(1 - high - delta, 1 - low))


def _ratio(more: float, less: float) -> float:
    if more <= 0:
        return -inf
    return log(more / less) if less > 0 else inf
