"""The attacks of Hu et al. 2022 on runs of the protocol: what they get, and what they say when they cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run, sealed, sealed_arbiter, seen, vertical
from fedleak.attacks import ATTACKS
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.deviations import DEVIATIONS


def attempt(name, coalition, widths, *, n_rows=48, noise=None, **settings):
    """The guess, the view, and (for each cell of the truth) the guessed and the true value."""
    attack = ATTACKS.get(name)
    federation = vertical(widths, sealed(**settings), n_rows=n_rows)
    hooks = DEVIATIONS.get(attack.deviation)().hooks(coalition[0]) if attack.deviation else ()
    hooks += GaussianNoise(sigma=noise).hooks(federation) if noise else ()
    result = run(federation, hooks=hooks)
    outside = next(party for party in widths if party not in coalition)
    owner = {SecretKind.LABELS: "bank", SecretKind.RESIDUALS: JOINT}.get(attack.produces, outside)
    view = seen(result, coalition, Secret(attack.produces, owner))
    if noise:
        view = replace(view, facts=GaussianNoise(sigma=noise).declare(view.facts))
    guess = attack().run(view, rng=np.random.default_rng(0))
    return guess, view, beside(guess, result.truth.of(view.target))


def beside(guess, truth):
    found = {tuple(np.atleast_1d(key).tolist()): row for key, row in zip(guess.ids, guess.values, strict=True)}
    nothing = np.full(guess.values.shape[1], np.nan)
    return np.array([found.get(tuple(np.atleast_1d(key).tolist()), nothing) for key in truth.ids]), truth.values


def largest_error(pair, *, up_to_sign=False):
    guessed, true = pair
    if up_to_sign and np.nansum(guessed * true) < 0:
        guessed = -guessed
    return float(np.max(np.where(np.isnan(guessed), np.inf, np.abs(guessed - true))))


@pytest.mark.parametrize("approximation", ["taylor", "cubic", "piecewise"])
@pytest.mark.parametrize(
    ("coalition", "widths", "initialisation"),
    [(("bank",), {"bank": 12, "fintech": 1}, "xavier"), (("fintech",), {"bank": 1, "fintech": 12}, "zero")],
)
def test_single_column_by_either_party(approximation, coalition, widths, initialisation):
    settings = {"epochs": 7, "initialisation": initialisation, "approximation": approximation}
    guess, view, pair = attempt("single-column-recovery", coalition, widths, share_fraction_bits=28, **settings)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair, up_to_sign=True) < (1e-6 if approximation == "piecewise" else 1e-7)
    if approximation == "taylor":
        assert ATTACKS.get("single-column-recovery").predict(view.facts).verdict is Verdict.EXACT


def test_two_columns_are_hidden_by_theorem_3_6_but_their_scores_are_not():
    widths = {"bank": 12, "fintech": 2}
    guess, view, _ = attempt("single-column-recovery", ("bank",), widths, initialisation="xavier")
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert "theorem 3.6" in guess.why
    assert ATTACKS.get("single-column-recovery").predict(view.facts).verdict is Verdict.IMPOSSIBLE
    guess, _, pair = attempt("partial-score-recovery", ("bank",), widths, initialisation="xavier")
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) < 1e-9


def test_rotated_columns_give_the_same_view():
    """The heart of theorem 3.6's proof: rows and weights rotated together change no gradient of the partner."""
    federation = vertical({"bank": 6, "fintech": 2}, sealed(epochs=2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    other = federation.party("fintech")
    turned = replace(other, train=replace(other.train, features=other.train.features @ turn))
    rotated = replace(federation, parties=(federation.party("bank"), turned))
    one, two = (
        [r.value.values for r in run(each).locals["bank"] if r.name == "gradient"] for each in (federation, rotated)
    )
    np.testing.assert_allclose(one, two, atol=1e-11)


def test_scores_of_two_outside_parties_are_only_known_as_a_sum():
    guess, _, _ = attempt("partial-score-recovery", ("bank",), {"bank": 12, "fintech": 1, "shop": 2})
    assert guess.status is Status.PARTIAL
    assert "sum" in guess.why


@pytest.mark.parametrize("approximation", ["taylor", "cubic"])
@pytest.mark.parametrize("coalition", [("bank",), ("fintech",)])
def test_packed_products_open_batches_beyond_the_columns(approximation, coalition):
    widths, settings = {"bank": 3, "fintech": 4}, {"batch_size": 12, "epochs": 1, "approximation": approximation}
    passive, _, _ = attempt("residual-recovery", coalition, widths, **settings)
    assert passive.status is Status.UNDETERMINED
    guess, view, pair = attempt("packed-residual-recovery", coalition, widths, **settings)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) < 1e-11
    assert ATTACKS.get("packed-residual-recovery").predict(view.facts).verdict is Verdict.EXACT


def test_packed_products_with_three_parties_and_blinds():
    widths = {"bank": 3, "fintech": 4, "shop": 3}
    guess, _, pair = attempt("packed-residual-recovery", ("fintech",), widths, batch_size=12, epochs=1)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) < 1e-11


def test_packed_labels_and_packed_column():
    guess, _, pair = attempt("packed-residual-sign", ("fintech",), {"bank": 3, "fintech": 4}, batch_size=16, epochs=1)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) == 0
    settings = {"batch_size": 12, "epochs": 6, "initialisation": "xavier"}
    guess, _, pair = attempt("packed-single-column", ("bank",), {"bank": 3, "fintech": 1}, **settings)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair, up_to_sign=True) < 1e-8


def test_the_cubic_of_three_parties_gives_scores_and_labels_away_as_that_of_two():
    settings = {"approximation": "cubic", "share_fraction_bits": 28, "initialisation": "xavier"}
    widths = {"bank": 12, "fintech": 1, "shop": 2}
    guess, _, _ = attempt("partial-score-recovery", ("bank",), widths, **settings)
    assert guess.status is Status.PARTIAL, "of two outside parties only the sum is known"
    guess, _, pair = attempt("partial-score-recovery", ("bank", "fintech"), widths, **settings)
    assert guess.status is Status.PARTIAL, "of three roots it says the middle one"
    assert largest_error(pair) < 1e-6
    guess, _, pair = attempt("residual-sign", ("shop",), {"bank": 2, "fintech": 1, "shop": 12}, **settings)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) == 0


def test_claimed_columns_open_a_full_batch():
    guess, _, pair = attempt("claimed-residual-recovery", ("bank",), {"bank": 3, "fintech": 4}, batch_size=48, epochs=1)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) < 1e-10


@pytest.mark.parametrize("approximation", ["taylor", "cubic", "piecewise"])
def test_labels_by_sign_under_every_approximation(approximation):
    guess, _, pair = attempt("residual-sign", ("fintech",), {"bank": 3, "fintech": 8}, approximation=approximation)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) == 0


def test_under_noise_residuals_add_up_and_confidence_stays_honest():
    settings = {"epochs": 40, "batch_size": 8, "learning_rate": 0.01}
    guess, _, (guessed, true) = attempt(
        "residual-sign", ("fintech",), {"bank": 3, "fintech": 12}, noise=4.0, **settings
    )
    right = guessed == true
    assert right.mean() > 0.95  # one residual alone is right in 69 % of the rows
    assert guess.status is Status.PARTIAL
    assert guess.confidence is not None
    assert guess.confidence.min() >= 0.5
    assert guess.confidence.mean() == pytest.approx(right.mean(), abs=0.08)


@pytest.mark.parametrize(("batch_size", "epochs"), [(24, 1), (16, 6)])
def test_labels_of_a_party_without_columns(batch_size, epochs):
    widths = {"bank": 0, "fintech": 4}
    guess, view, pair = attempt("sign-system-labels", ("fintech",), widths, batch_size=batch_size, epochs=epochs)
    assert guess.status is Status.RECOVERED
    assert largest_error(pair) == 0
    assert ATTACKS.get("sign-system-labels").predict(view.facts).verdict is Verdict.EXACT


def test_sign_system_says_when_it_does_not_apply_or_runs_out():
    guess, _, _ = attempt("sign-system-labels", ("fintech",), {"bank": 1, "fintech": 4})
    assert guess.status is Status.UNDETERMINED
    guess, _, _ = attempt("sign-system-labels", ("fintech",), {"bank": 0, "fintech": 4}, batch_size=48, epochs=1)
    assert guess.status is Status.UNDETERMINED
    assert "subset sum" in guess.why


def test_regularised_training_with_an_arbiter_gives_its_single_column_away_too():
    settings = sealed_arbiter(batch_size=6, epochs=6, initialisation="xavier", l2=0.1, decay=True, learning_rate=0.5)
    federation = vertical(
        {"bank": 12, "fintech": 1, "referee": 0}, settings, n_rows=48, protocol="vertical-logistic-arbiter"
    )
    result = run(federation)
    view = seen(result, ("bank",), Secret(SecretKind.FEATURES, "fintech"), "vertical-logistic-arbiter")
    guess = ATTACKS.get("single-column-recovery")().run(view, rng=np.random.default_rng(0))
    assert largest_error(beside(guess, result.truth.of(view.target)), up_to_sign=True) < 1e-6
