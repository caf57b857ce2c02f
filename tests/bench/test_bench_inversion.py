"""The bench of one gradient: all sides meet the same gradient, and a rival that can win does."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fedleak.bench import inversion_bench
from fedleak.bench.inversion_bench import FEW, RIVALS, _rival, measure
from fedleak.papers.jin2021.one_gradient_case import TABLE, GradientCase, problem_of, squared_error


def test_the_smallest_ratio_stands_above_all(monkeypatch) -> None:
    monkeypatch.setattr(inversion_bench, "QUICK", (GradientCase(TABLE, 1), GradientCase(TABLE, 4)))
    found = measure(quick=True)
    sides = found["sides"]
    assert found["error_ratio"] == min(side["error_ratio"] for side in sides.values())
    for side in sides.values():
        best = min(side[f"{name}_mse"] for name in RIVALS)
        assert side["error_ratio"] == max(best, 1e-20) / max(side["ours_mse"], 1e-20)
    assert sides["breast cancer, K = 4"]["error_ratio"] > 1e3


def test_rivals_solve_a_single_row() -> None:
    """A side that does not search would make any ratio."""
    problem = problem_of(GradientCase(TABLE, 1), 3)
    blind = squared_error(problem, np.full(problem.inputs.shape, 0.5))
    for name in RIVALS:
        assert squared_error(problem, _rival(name, problem, 0.5)) < 1e-3 * blind


def test_time_that_is_left_goes_to_other_starts_and_the_nearest_gradient_is_kept(monkeypatch) -> None:
    """By a clock that goes on by one second a look: began, and after each of four searches."""
    ticks, distances = iter(range(9)), [3.0, 1.0, 2.0, 4.0]
    asked: list[int] = []

    def search(_batch, n_evaluations, _rng):
        asked.append(n_evaluations)
        distance = distances[len(asked) - 1]
        return SimpleNamespace(inputs=np.array([distance]), distance=distance, evaluations=n_evaluations)

    monkeypatch.setattr(inversion_bench, "time", SimpleNamespace(process_time=lambda: float(next(ticks))))
    monkeypatch.setattr(inversion_bench, "matched_batch", search)
    assert _rival("DLG", problem_of(GradientCase(TABLE, 1), 3), 3.5).tolist() == [1.0]
    assert len(asked) == 4
    assert asked[1] == int(2.5 * FEW), "as many as fit into what is left"
