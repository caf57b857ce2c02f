"""Inner products of hidden rows from their scores."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run, sealed, seen, vertical
from fedleak.attacks.features.score_gram_recovery import ScoreGramRecovery
from fedleak.attacks.training.score_factors import n_unknowns
from fedleak.core.guess import Status
from fedleak.core.secret import Secret, SecretKind

GRAM = Secret(SecretKind.GRAM, "fintech")


def attempt(width, *, epochs, n_rows=24, batch_size=6, initialisation="xavier"):
    settings = sealed(batch_size=batch_size, epochs=epochs, learning_rate=1.0, initialisation=initialisation)
    result = run(vertical({"bank": 10, "fintech": width}, settings, n_rows=n_rows))
    guess = ScoreGramRecovery().run(seen(result, ("bank",), GRAM), rng=np.random.default_rng(0))
    return guess, result.truth.of(GRAM).values


@pytest.mark.parametrize(("width", "initialisation"), [(1, "xavier"), (2, "xavier"), (2, "zero"), (3, "xavier")])
def test_inner_products_are_exact(width, initialisation):
    guess, truth = attempt(width, epochs=10, initialisation=initialisation)
    assert guess.status is Status.RECOVERED
    np.testing.assert_allclose(guess.values, truth, atol=1e-8 * np.abs(truth).max())


def test_too_few_scores_are_said_to_be_too_few():
    guess, _ = attempt(3, epochs=2)
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert f"{n_unknowns(24, 3)} are needed" in guess.why


def test_unknowns_over_the_budget_are_undetermined():
    guess, _ = attempt(9, epochs=40, n_rows=120)
    assert guess.status is Status.UNDETERMINED
    assert "budget" in guess.why
