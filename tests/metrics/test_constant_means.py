"""The mean of a column whose cells are all equal."""

from __future__ import annotations

import numpy as np

from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.learnt_means import means_by_luck


def test_equal_decimals_have_no_spread() -> None:
    """In floating point their deviation is not 0, and there is no distance between one value and the next."""
    values = np.full((6, 1), 0.7)
    assert values.std(ddof=1) > 0
    truth = SecretValues.spanning(np.arange(6), ("constant",), values)
    unknown = np.ones((6, 1), dtype=np.bool_)
    assert means_by_luck([values + 0.1], truth, unknown, (), frozenset()).tolist() == [1.0]
