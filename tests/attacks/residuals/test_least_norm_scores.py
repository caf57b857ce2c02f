"""Scores of batches beyond the own columns: what the gradient determines of them is told, and exact."""

from __future__ import annotations

import numpy as np
import pytest

from federations import sealed, vertical
from fedleak.attacks import ATTACKS
from fedleak.attacks.residuals.batch_systems import batch_systems
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.whole.randomness import Randomness
from fedleak.trial.play import play

SCORES = {"bank": Secret(SecretKind.PARTIAL_SCORES, "fintech"), "fintech": Secret(SecretKind.PARTIAL_SCORES, "bank")}


def answered(who: str, **changes):
    federation = vertical({"bank": 3, "fintech": 3}, sealed(batch_size=12, initialisation="normal", **changes))
    played = play(federation, Randomness.published(0))
    view, attack = played.view((who,), SCORES[who]), ATTACKS.get("score-recovery")
    return attack().run(view, rng=np.random.default_rng(0)), view, played.run.truth


def test_what_is_told_has_the_true_scores_along_the_own_columns():
    guess, view, truth = answered("bank")
    true = truth.of(view.target)
    of_cell = {tuple(cell): value for cell, value in zip(true.ids.tolist(), true.values[:, 0].tolist(), strict=True)}
    told = {tuple(cell): value for cell, value in zip(guess.ids.tolist(), guess.values[:, 0].tolist(), strict=True)}
    assert guess.status is Status.PARTIAL
    assert "12 of 48 directions are determined; the rest is filled with nothing" in guess.why
    assert (guess.evidence["rank"], guess.evidence["unknowns"]) == (12, 48)
    for system in batch_systems(view):
        cells = [(system.round, row) for row in system.ids.tolist()]
        along = [system.rows.T @ np.array([values[cell] for cell in cells]) for values in (told, of_cell)]
        np.testing.assert_allclose(along[0], along[1], atol=1e-9)
    assert ATTACKS.get("score-recovery").predict(view.facts).verdict is not Verdict.IMPOSSIBLE


@pytest.mark.parametrize(("who", "sigmoid"), [("fintech", "taylor"), ("bank", "cubic"), ("bank", "piecewise")])
def test_without_labels_or_a_linear_residual_nothing_is_filled_in(who, sigmoid):
    guess, _, _ = answered(who, approximation=sigmoid)
    assert guess.status is Status.UNDETERMINED
    assert not np.isfinite(guess.values).any()
    assert "no score is determined" in guess.why
