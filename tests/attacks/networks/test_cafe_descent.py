"""Pieces of CAFE as printed: the descent on eq. 7, and the total variation of eq. 9 with its threshold."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.batch_indicators import Batches
from fedleak.attacks.networks.cafe_descent import RowGradients, RowInputs
from fedleak.attacks.networks.cafe_fake_data import _truncated
from fedleak.attacks.networks.layer_gradients import LayerGradient

torch = pytest.importorskip("torch")


def test_descents_with_the_largest_stable_steps_end_at_the_rows() -> None:
    rng = np.random.default_rng(4)
    own, inputs = rng.normal(size=(5, 6)), rng.normal(size=(5, 7))
    batches = Batches.of([rng.choice(5, 2, replace=False) for _ in range(12)])
    first, second = RowGradients(batches, 6, rng, rate=None), RowInputs(batches, 7, rng)
    for number in range(600):
        held = batches.rows(number % 12)
        layer = LayerGradient(own[held].T @ inputs[held], own[held].sum(axis=0))
        first.step(number % 12, layer)
        second.step(number % 12, layer, first.values)
    np.testing.assert_allclose(first.values, own, atol=1e-3)
    np.testing.assert_allclose(second.values, inputs, atol=2e-2)


def test_the_total_variation_counts_above_its_threshold_alone() -> None:
    flat, rough = torch.full((1, 1, 3, 3), 0.2), torch.eye(3)[None, None]
    both = torch.cat([flat + torch.tensor([0.0, 0.1, 0.0]), rough])
    assert float(_truncated(both, 5.0)) == pytest.approx(8.0)
    assert float(_truncated(both, 0.0)) == pytest.approx(8.6)
