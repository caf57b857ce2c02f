"""A certificate stands over right answers alone: what an attack proves from the view is held against the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness import ATTACK_NAMES, situation

from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.attacks.residuals.batch_residuals import BatchSystem, proof_of, solve
from fedleak.attacks.residuals.residual_recovery import ResidualRecovery
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.attack import Attack, Guess
from fedleak.core.finding import Better
from fedleak.core.whole.hooks import Defense
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.testing.contracts import deciding_score
from fedleak.testing.situations import Situation
from prediction_runs import run_prediction, unit_federation, view_of

PROVING = {
    "arbiter-collusion",
    "binary-records",
    "claimed-residual-recovery",
    "residual-recovery",
    "residual-sign",
}


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_what_is_proved_is_true(name: str) -> None:
    attempt = situation(name).attempt()
    assert bool(attempt.guess.certificate) == (name in PROVING), attempt.guess.certificate
    if attempt.guess.certificate:
        score = deciding_score(attempt)
        assert score is not None
        assert score.value == pytest.approx(1.0 if score.better is Better.HIGHER else 0.0, abs=1e-4)
        accuracy = [one.value for one in attempt.scores if one.metric == "label-accuracy"]
        assert accuracy in ([], [1.0]), "the right order of labels is not yet the right labels"


def undeclared(case: Situation) -> Guess:
    """The answer on a defended run whose header says nothing of the defense."""
    view = replace(case.view(), facts=situation(case.task.attack.name).view().facts)
    return case.task.attack().run(view, rng=np.random.default_rng(0))


@pytest.mark.parametrize("sigma", [0.05, 20.0])
def test_labels_are_not_proved_under_noise_that_nobody_declared(sigma: float) -> None:
    assert undeclared(situation("residual-sign", defense=GaussianNoise(sigma=sigma))).certificate == ""


@pytest.mark.parametrize("attack", [ResidualRecovery, ResidualSign])
def test_nothing_is_proved_under_noise_that_is_declared(attack: type[Attack]) -> None:
    guess = situation(attack.name, defense=GaussianNoise(sigma=0.05)).attempt(isolated=False).guess
    assert guess.certificate == ""


@pytest.mark.parametrize("start", ["xavier", None])
def test_labels_are_not_proved_where_the_start_is_uncertain(start: str | None) -> None:
    case = situation("residual-sign")
    view = case.view()
    view = replace(view, facts=replace(view.facts, initialisation=start))
    assert ResidualSign().run(view, rng=np.random.default_rng(0)).certificate == ""


def system(n_rows: int, n_columns: int, *, off: float = 0.0) -> BatchSystem:
    rng = np.random.default_rng(3)
    rows, residuals = rng.standard_normal((n_rows, n_columns)), rng.choice([-0.5, 0.5], n_rows)
    gradient = rows.T @ residuals / n_rows + off * rng.standard_normal(n_columns)
    return BatchSystem(0, np.arange(n_rows), rows, gradient)


def test_residuals_are_proved_by_equations_to_spare_that_agree() -> None:
    assert proof_of([solve(system(5, 8))])
    assert proof_of([solve(system(8, 8))]) == ""  # whatever the gradient is, it has a solution
    assert proof_of([solve(system(9, 8))]) == ""
    assert proof_of([solve(system(5, 8, off=1e-4))]) == ""
    assert proof_of([]) == ""


def served(n_classes: int, defense: Defense | None = None) -> Guess:
    """Two hidden columns; a defense is not declared."""
    federation = unit_federation({"bank": 3, "fintech": 2}, PredictionSettings(), n_classes=n_classes)
    return EqualitySolving().run(view_of(run_prediction(federation, defense=defense)), rng=np.random.default_rng(0))


def test_rows_are_proved_by_confidences_to_spare() -> None:
    assert "with 2 equations to spare" in served(5).certificate
    assert served(3).certificate == ""  # two equations for two columns: always solved, whatever was released


@pytest.mark.parametrize("defense", [Rounding(digits=6), ConfidenceNoise(sigma=1e-6)], ids=lambda one: one.name)
def test_rows_are_not_proved_by_blurred_confidences(defense: Defense) -> None:
    assert served(5, defense).certificate == ""
