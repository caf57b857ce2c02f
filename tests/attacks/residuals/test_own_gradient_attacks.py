"""Attacks that start from a party's own gradient, beyond what the contracts check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run, sealed, sealed_arbiter, seen, vertical
from fedleak.attacks.residuals.batch_systems import BatchSystem, solve
from fedleak.attacks.residuals.own_weights import OwnWeights
from fedleak.attacks.residuals.residual_recovery import ResidualRecovery
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.defenses.inexact_sharing import GaussianNoise

LABELS = Secret(SecretKind.LABELS, "bank")
RESIDUALS = Secret(SecretKind.RESIDUALS, JOINT)
RNG = np.random.default_rng(0)


def error(result, guess) -> float:
    truth = result.truth.of(RESIDUALS)
    assert np.array_equal(truth.ids, guess.ids)
    return float(np.nanmax(np.abs(truth.values - guess.values)))


def test_every_residual_is_recovered_where_the_batch_fits():
    result = run(vertical({"bank": 2, "fintech": 8}, sealed(batch_size=8, initialisation="xavier")))
    guess = ResidualRecovery().run(seen(result, ("fintech",), RESIDUALS), rng=RNG)
    assert guess.status is Status.RECOVERED
    assert error(result, guess) < 1e-8


def test_one_row_more_than_columns_determines_no_residual():
    result = run(vertical({"bank": 2, "fintech": 7}, sealed(batch_size=8)))
    guess = ResidualRecovery().run(seen(result, ("fintech",), RESIDUALS), rng=RNG)
    assert guess.status is Status.UNDETERMINED, "of two classes: real numbers would not be identifiable"
    assert "8 rows has only 7 independent equations" in guess.why
    assert np.isnan(guess.values).all()


def test_a_coalition_has_more_equations():
    result = run(vertical({"bank": 2, "fintech": 4, "shop": 5}, sealed(batch_size=8)))
    alone = ResidualRecovery().run(seen(result, ("fintech",), RESIDUALS), rng=RNG)
    together = ResidualRecovery().run(seen(result, ("fintech", "shop"), RESIDUALS), rng=RNG)
    assert alone.status is Status.UNDETERMINED
    assert together.status is Status.RECOVERED
    assert error(result, together) < 1e-8


def test_it_works_the_same_on_the_protocol_with_an_arbiter():
    name = "vertical-logistic-arbiter"
    settings = sealed_arbiter(batch_size=6, l2=0.3, decay=True, initialisation="xavier")
    result = run(vertical({"bank": 2, "fintech": 8, "referee": 0}, settings, protocol=name))
    guess = ResidualRecovery().run(seen(result, ("fintech",), RESIDUALS, name), rng=RNG)
    assert guess.status is Status.RECOVERED
    assert error(result, guess) < 1e-8


def test_a_row_that_no_null_direction_touches_is_still_determined():
    """Rows 0 and 1 are equal, so only their sum is known; row 2 stands alone."""
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    residuals = np.array([0.3, -0.1, 0.25])
    solved = solve(BatchSystem(0, np.arange(3), rows, rows.T @ residuals / 3))
    assert solved.rank == 2
    assert np.isnan(solved.residuals[:2]).all()
    assert solved.residuals[2] == pytest.approx(0.25)


def test_labels_by_sign_are_certain_within_the_safe_rounds():
    result = run(vertical({"bank": 2, "fintech": 8}, sealed(batch_size=8, epochs=1, learning_rate=0.1)))
    guess = ResidualSign().run(seen(result, ("fintech",), LABELS), rng=RNG)
    assert guess.status is Status.RECOVERED
    np.testing.assert_array_equal(guess.confidence, 1.0)
    np.testing.assert_array_equal(guess.values, result.truth.of(LABELS).values)


def test_recovered_is_said_of_all_rows_or_not_at_all():
    """The short last batch opens, the others do not: those labels are right, and they are a part."""
    result = run(vertical({"bank": 2, "fintech": 8}, sealed(batch_size=20, epochs=1, learning_rate=0.01)))
    guess = ResidualSign().run(seen(result, ("fintech",), LABELS), rng=RNG)
    truth = result.truth.of(LABELS)
    assert 0 < len(guess.ids) < len(truth.ids)
    assert guess.status is Status.PARTIAL
    by_row = dict(zip(truth.ids.tolist(), truth.values[:, 0].tolist(), strict=True))
    assert [by_row[int(row)] for row in guess.ids] == guess.values[:, 0].tolist()


@pytest.mark.parametrize("attack", [ResidualRecovery, ResidualSign])
def test_a_batch_that_is_told_twice_counts_once(attack):
    result = run(vertical({"bank": 2, "fintech": 8}, sealed(batch_size=8)))
    target = RESIDUALS if attack is ResidualRecovery else LABELS
    view = seen(result, ("fintech",), target)
    twice = replace(view, messages=[message for message in view.messages for _ in range(2)])
    once, again = (attack().run(one, rng=RNG) for one in (view, twice))
    assert np.array_equal(once.ids, again.ids)
    assert np.array_equal(once.values, again.values)


def test_labels_beyond_the_safe_rounds_are_offered_with_less_confidence():
    settings = sealed(batch_size=8, epochs=1, learning_rate=0.1, initialisation="normal")
    guess = ResidualSign().run(seen(run(vertical({"bank": 2, "fintech": 8}, settings)), ("fintech",), LABELS), rng=RNG)
    assert guess.status is Status.PARTIAL
    assert guess.confidence.min() < 1.0


def test_noise_turns_the_residual_into_residual_plus_noise():
    federation = vertical({"bank": 2, "fintech": 8}, sealed(batch_size=8, epochs=1))
    result = run(federation, hooks=GaussianNoise(sigma=3.0).hooks(federation))
    guess = ResidualRecovery().run(seen(result, ("fintech",), RESIDUALS), rng=RNG)
    noise = np.concatenate([r.value.values for r in result.locals["bank"] if r.name == "noise"])
    truth = result.truth.of(RESIDUALS)
    # The noise is on f = 4 r; what the attack finds is exactly the noised residual.
    np.testing.assert_allclose(guess.values[:, 0], truth.values[:, 0] + noise / 4, atol=1e-8)


@pytest.mark.parametrize(("batch_size", "verdict"), [(8, Verdict.EXACT), (12, Verdict.UNKNOWN), (9, Verdict.PARTIAL)])
def test_the_prediction_follows_corollary_3_2(batch_size, verdict):
    result = run(vertical({"bank": 2, "fintech": 8}, sealed(batch_size=batch_size, epochs=1)))
    facts = seen(result, ("fintech",), RESIDUALS).facts
    assert ResidualRecovery.predict(facts).verdict is verdict


def test_an_arbiter_in_the_coalition_adds_no_weights():
    """It has neither columns nor weights: the guess is that of its partner alone."""
    name = "vertical-logistic-arbiter"
    result = run(vertical({"bank": 2, "fintech": 4, "referee": 0}, sealed_arbiter(epochs=1), protocol=name))
    alone = OwnWeights().run(seen(result, ("fintech",), LABELS, name), rng=RNG)
    together = OwnWeights().run(seen(result, ("referee", "fintech"), LABELS, name), rng=RNG)
    assert alone.values.tobytes() == together.values.tobytes()
