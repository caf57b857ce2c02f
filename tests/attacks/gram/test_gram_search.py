"""Inner products of hidden rows from few epochs, by a search."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run, sealed, seen, vertical
from fedleak.attacks import ATTACKS
from fedleak.attacks.gram.gram_recovery import GramRecovery
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.theory.inner_products import n_unknowns

GRAM = Secret(SecretKind.GRAM, "fintech")


def attempt(width, *, epochs, n_rows=24, batch_size=6, initialisation="xavier", **changes):
    defaults = {"batch_size": batch_size, "epochs": epochs, "learning_rate": 1.0, "initialisation": initialisation}
    settings = sealed(**defaults, **changes)
    result = run(vertical({"bank": 10, "fintech": width}, settings, n_rows=n_rows))
    guess = GramRecovery().run(seen(result, ("bank",), GRAM), rng=np.random.default_rng(0))
    return guess, result.truth.of(GRAM).values


@pytest.mark.parametrize(("width", "initialisation"), [(1, "xavier"), (2, "xavier"), (2, "zero"), (3, "xavier")])
def test_inner_products_are_exact(width, initialisation):
    guess, truth = attempt(width, epochs=10, initialisation=initialisation)
    assert guess.status is Status.RECOVERED
    np.testing.assert_allclose(guess.values, truth, atol=1e-8 * np.abs(truth).max())


def test_too_few_scores_are_said_to_be_too_few():
    guess, _ = attempt(3, epochs=2)
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert f"a search needs {n_unknowns(24, 3)}" in guess.why
    assert "25 visits are needed" in guess.why


@pytest.mark.parametrize("width", [13, 40])
def test_more_columns_than_rows_span_no_more_than_the_rows(width):
    """Eight rows: 36 inner products and 8 first scores are all that is unknown, whatever the width."""
    assert n_unknowns(8, width) == 44
    guess, truth = attempt(width, epochs=8, n_rows=8, batch_size=4)
    assert "a search for rows of width 8, 64 scores for 44 unknowns" in guess.evidence["from"]
    assert guess.values.shape == truth.shape
    few, _ = attempt(width, epochs=5, n_rows=8, batch_size=4)
    assert few.status is Status.NOT_IDENTIFIABLE
    assert "40 scores are known, and a search needs 44" in few.why


def test_unknowns_over_the_budget_are_undetermined():
    guess, _ = attempt(9, epochs=40, n_rows=120)
    assert guess.status is Status.UNDETERMINED
    assert "budget" in guess.why


def test_the_search_takes_over_below_the_epochs_of_the_linear_solve():
    """24 rows: from 25 visits of each on the solve is linear, and says so."""
    few, truth = attempt(2, epochs=24)
    assert "a search" in few.evidence["from"]
    many, _ = attempt(2, epochs=40)
    assert "shuffled mini-batches" in many.evidence["from"]
    for guess in (few, many):
        assert guess.status is Status.RECOVERED
        np.testing.assert_allclose(guess.values, truth, atol=1e-4 * np.abs(truth).max())


def test_the_expected_error_of_a_search_is_not_below_the_real_one_by_an_order():
    guess, truth = attempt(3, epochs=10)
    error = np.linalg.norm(guess.values - truth) / np.linalg.norm(truth)
    assert error < 10 * guess.evidence["expected relative error"]


@pytest.mark.parametrize("approximation", ["cubic", "piecewise"])
def test_other_approximations_of_the_sigmoid(approximation):
    guess, truth = attempt(2, epochs=12, approximation=approximation, share_fraction_bits=28)
    assert guess.status is Status.RECOVERED
    np.testing.assert_allclose(guess.values, truth, atol=1e-5 * np.abs(truth).max())


def test_a_party_without_labels_reads_them_off_the_signs():
    settings = sealed(batch_size=6, epochs=10, learning_rate=0.1, initialisation="zero")
    result = run(vertical({"bank": 2, "fintech": 10}, settings))
    target = Secret(SecretKind.GRAM, "bank")
    view = seen(result, ("fintech",), target)
    guess = GramRecovery().run(view, rng=np.random.default_rng(0))
    truth = result.truth.of(target).values
    assert guess.status is Status.RECOVERED
    np.testing.assert_allclose(guess.values, truth, atol=1e-4 * np.abs(truth).max())
    assert GramRecovery.predict(view.facts).verdict is Verdict.UNKNOWN


def test_batches_that_recur_leave_the_search():
    guess, truth = attempt(2, epochs=12, shuffle=False)
    assert guess.status is Status.RECOVERED
    np.testing.assert_allclose(guess.values, truth, atol=1e-8 * np.abs(truth).max())


def test_a_search_that_ends_in_a_poor_fit_does_not_count_as_an_answer():
    """From few epochs it sometimes does; whenever it says recovered, it is."""
    stati = set()
    for epochs in (3, 4, 5, 6):
        guess, truth = attempt(2, epochs=epochs, shuffle=False)
        stati.add(guess.status)
        if guess.status is Status.RECOVERED:
            np.testing.assert_allclose(guess.values, truth, atol=1e-8 * np.abs(truth).max())
    assert stati == {Status.RECOVERED, Status.PARTIAL}


def test_the_old_names_are_aliases():
    assert ATTACKS.get("score-gram-recovery") is GramRecovery
    assert ATTACKS.get("partial-score-recovery").name == "score-recovery"
