"""Null test: on a view that is independent of the secret, no attack beats the baseline."""

from __future__ import annotations

import numpy as np
import pytest
from cheaters import BendsTheYardstick, RemembersTheTruth
from harness import ATTACK_NAMES, situation

from fedleak.attacks import ATTACKS
from fedleak.core.attack import Guess, Status
from fedleak.metrics import metrics_for
from fedleak.metrics.cell_metrics import LabelAccuracy

SEEDS = range(6)


def null_gains(attack_name: str, attack, *, before=lambda real: None) -> np.ndarray:
    """Per seed: how far above the baseline the guess from another secret's view scores."""
    gains = []
    for seed in SEEDS:
        real = situation(attack_name, seed=seed)
        other = situation(attack_name, seed=seed, other_secrets=True)
        before(real)
        guess = attack().run(other.view, rng=np.random.default_rng(seed))
        gains.append(_gain(guess, real))
    return np.array(gains)


def _gain(guess: Guess, real) -> float:
    if guess.status is Status.NOT_IDENTIFIABLE or not np.isfinite(guess.values).any():
        return 0.0
    metric = metrics_for(guess.secret.kind, real.task.attack.measured_by)[0]
    truth = real.run.truth.of(guess.secret)
    rng = np.random.default_rng(0)
    return metric.score(guess, truth, real.view.knowledge, up_to=real.task.attack.up_to, rng=rng).gain


def significantly_positive(gains: np.ndarray) -> bool:
    """One-sided, at three standard errors; a gain below one point in a hundred is no finding."""
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return bool(gains.mean() > 0.01 and gains.mean() > 3 * error)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_no_attack_scores_on_an_independent_view(name):
    gains = null_gains(name, ATTACKS.get(name))
    assert not significantly_positive(gains), gains


def test_a_cheater_that_knows_the_truth_is_caught():
    def smuggle(real) -> None:
        truth = real.run.truth.of(real.task.target)
        RemembersTheTruth.smuggled = dict(zip(truth.ids.tolist(), truth.values[:, 0].tolist(), strict=True))

    assert significantly_positive(null_gains("residual-sign", RemembersTheTruth, before=smuggle))


def test_a_cheater_that_bends_the_metric_is_caught(monkeypatch):
    monkeypatch.setattr(LabelAccuracy, "cell_scores", LabelAccuracy.cell_scores)  # put back afterwards
    assert significantly_positive(null_gains("residual-sign", BendsTheYardstick))
