"""Null test: on a view that is independent of the secret, no attack beats the baseline."""

from __future__ import annotations

import numpy as np
import pytest
from cheaters import BendsTheYardstick, RemembersTheTruth
from harness import ATTACK_NAMES, deciding_score, situation

from fedleak.metrics.cell_metrics import LabelAccuracy

SEEDS = range(6)


def null_gains(name: str, attack=None, *, before=lambda real: None, isolated: bool = True) -> np.ndarray:
    """Per seed: how far above the baseline the guess from another secret's view scores."""
    gains = []
    for seed in SEEDS:
        real = situation(name, seed=seed)
        before(real)
        independent = situation(name, seed=seed, other_secrets=True).judged_by(real)
        score = deciding_score(independent.attempt(attack, seed=seed, isolated=isolated))
        gains.append(0.0 if score is None else score.gain)
    return np.array(gains)


def significantly_positive(gains: np.ndarray) -> bool:
    """One-sided, at three standard errors; a gain below one point in a hundred is no finding."""
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return bool(gains.mean() > 0.01 and gains.mean() > 3 * error)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_no_attack_scores_on_an_independent_view(name):
    gains = null_gains(name)
    assert not significantly_positive(gains), gains


def test_a_cheater_that_knows_the_truth_is_caught():
    """Here, where it can be told; in a process of its own it has nothing to say."""

    def smuggle(real) -> None:
        RemembersTheTruth.smuggled = dict(zip(real.truth.ids.tolist(), real.truth.values[:, 0].tolist(), strict=True))

    assert significantly_positive(null_gains("residual-sign", RemembersTheTruth, before=smuggle, isolated=False))
    assert not null_gains("residual-sign", RemembersTheTruth, before=smuggle).any()


def test_a_cheater_that_bends_the_metric_is_caught(monkeypatch):
    monkeypatch.setattr(LabelAccuracy, "cell_scores", LabelAccuracy.cell_scores)  # put back afterwards
    assert significantly_positive(null_gains("residual-sign", BendsTheYardstick, isolated=False))
