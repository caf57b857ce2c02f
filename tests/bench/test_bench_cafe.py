"""The bench of CAFE's first two steps: both sides meet the same gradients, and their figures are theirs."""

from __future__ import annotations

import numpy as np

from fedleak.bench import cafe_bench
from fedleak.bench.cafe_bench import Sizes, measure

SMALL = Sizes(40, 4, 60, 120)


def test_the_solution_is_nearer_than_descent(monkeypatch) -> None:
    monkeypatch.setattr(cafe_bench, "QUICK", SMALL)
    found = measure(quick=True)
    assert found["bench"] == "cafe"
    assert found["step1_error_ratio"] > 1e3
    assert found["step2_error_ratio"] > 1e3
    sides = found["sides"]
    assert sides["solution"]["share_of_them_to_1e-5"] > 0.99
    assert sides["solution"]["others_not_flagged"] == 0
    assert sides["descent"]["batches"] == 120


def test_descent_comes_nearer_with_more_steps() -> None:
    """A side that does not descend would make any ratio."""
    layer = cafe_bench._first_layer(SMALL)
    alive = np.ones(len(layer.inputs), dtype=bool)
    errors = []
    for n_steps in (20, 120, 1200):
        (own, _), _ = cafe_bench._descended(layer, Sizes(40, 4, 60, n_steps))
        errors.append(cafe_bench._share_off(own, layer.returned, alive))
    assert errors[0] > errors[1] > 1.5 * errors[2]
