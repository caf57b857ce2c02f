"""The mean of a column whose cells are all equal."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.blind import Blind
from fedleak.metrics.learnt_means import means_by_luck


def test_equal_decimals_have_no_spread() -> None:
    """In floating point their deviation is not 0, and there is no distance between one value and the next."""
    values = np.full((6, 1), 0.7)
    assert values.std(ddof=1) > 0
    truth = SecretValues.spanning(np.arange(6), ("constant",), values)
    unknown = np.ones((6, 1), dtype=np.bool_)
    assert means_by_luck([values + 0.1], truth, unknown, (), frozenset()).tolist() == [1.0]


@pytest.mark.parametrize(("value", "luck"), [(0.7, 0.0), (1.0, 1.0)])
def test_two_equal_cells_are_no_luck_unless_anybody_names_them(value: float, luck: float) -> None:
    """Two split points that are one value: rows in another order say as much, and are no baseline."""
    values = np.full((2, 1), value)
    truth = SecretValues.spanning(np.arange(2), ("threshold",), values)
    blinds = (Blind("low", np.zeros((1, 1))),)
    unknown = np.ones((2, 1), dtype=np.bool_)
    assert means_by_luck([values], truth, unknown, blinds, frozenset()).tolist() == [luck]
    assert means_by_luck(
        [values[:1]], SecretValues.spanning(np.arange(1), ("threshold",), values[:1]), unknown[:1], blinds, frozenset()
    ).tolist() == [1.0], "one cell"
