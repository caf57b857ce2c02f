"""Noise counts where it is: on a partner's messages it hides, on one's own it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run, sealed, sealed_arbiter, vertical
from fedleak.attacks import ATTACKS
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.defenses.inexact_sharing import DpPaillier, GaussianNoise
from fedleak.protocols import PROTOCOLS
from fedleak.theory.condition import State, course_known, no_noise

SIGMA = 3.0
EXCHANGE, ARBITER = "vertical-logistic", "vertical-logistic-arbiter"


def attempt(name, protocol, *, adversary=("bank",), noisy=("bank",), widths=None, epochs=8, **changes):
    """Guess, error against the truth (up to the attack's sign) and prediction, with noise by ``noisy`` only."""
    widths = dict(widths or {"bank": 12, "fintech": 1})
    settings = {"epochs": epochs, "initialisation": "xavier", **changes}
    if protocol == ARBITER:
        widths["referee"] = 0
    federation = vertical(
        widths, (sealed if protocol == EXCHANGE else sealed_arbiter)(**settings), n_rows=24, protocol=protocol
    )
    attack, defense = ATTACKS.get(name), GaussianNoise(sigma=SIGMA, parties=noisy)
    result = run(federation, hooks=defense.hooks(federation))
    capabilities = PROTOCOLS.get(protocol).reveals(federation.settings, result.transcript.facts.parties, adversary)
    facts = defense.declare(result.transcript.facts).seen_by(adversary, capabilities)
    outside = next(party for party in widths if party not in adversary)
    owner = {SecretKind.LABELS: "bank", SecretKind.RESIDUALS: JOINT}.get(attack.produces, outside)
    view = result.view(adversary, Secret(attack.produces, owner), facts)
    guess = attack().run(view, rng=np.random.default_rng(0))
    truth = result.truth.of(view.target)
    values = {tuple(np.atleast_1d(key)): value for key, value in zip(guess.ids, guess.values, strict=True)}
    found = np.array(
        [values.get(tuple(np.atleast_1d(key)), np.nan * row) for key, row in zip(truth.ids, truth.values, strict=True)]
    )
    sign = -1 if attack.up_to and np.nansum(found * truth.values) < 0 else 1
    error = np.max(np.where(np.isnan(found), np.inf, np.abs(sign * found - truth.values)))
    return guess, float(error), attack.predict(facts).verdict


@pytest.mark.parametrize("protocol", [EXCHANGE, ARBITER])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("residual-recovery", {}),
        ("score-recovery", {}),
        ("single-column-recovery", {}),
        ("gram-recovery", {"widths": {"bank": 12, "fintech": 2}, "epochs": 36}),
    ],
)
def test_the_adversarys_own_noise_hides_nothing(protocol, name, settings):
    guess, error, verdict = attempt(name, protocol, **settings)
    assert verdict is Verdict.EXACT
    assert guess.status is Status.RECOVERED
    assert error < 1e-5


@pytest.mark.parametrize("protocol", [EXCHANGE, ARBITER])
@pytest.mark.parametrize("name", ["residual-recovery", "score-recovery", "single-column-recovery"])
def test_the_partners_noise_does_hide(protocol, name):
    guess, error, verdict = attempt(name, protocol, noisy=("fintech",))
    assert verdict is not Verdict.EXACT
    assert guess.status is not Status.RECOVERED
    assert error > 0.01


@pytest.mark.parametrize("protocol", [EXCHANGE, ARBITER])
def test_labels_fall_to_a_passive_party_that_alone_adds_noise(protocol):
    settings = {"widths": {"bank": 2, "fintech": 12}, "initialisation": "zero", "adversary": ("fintech",), "epochs": 1}
    _, error, verdict = attempt("residual-sign", protocol, noisy=("fintech",), **settings)
    assert (error, verdict) == (0.0, Verdict.EXACT)
    _, error, verdict = attempt("residual-sign", protocol, noisy=("bank",), **settings)
    assert (error, verdict) == (1.0, Verdict.UNKNOWN)


@pytest.mark.parametrize("protocol", [EXCHANGE, ARBITER])
def test_members_of_a_coalition_take_each_others_noise_off(protocol):
    widths = {"bank": 5, "shop": 5, "fintech": 1}
    settings = {"widths": widths, "adversary": ("bank", "shop"), "noisy": ("bank", "shop")}
    guess, error, verdict = attempt("score-recovery", protocol, **settings)
    assert (guess.status, verdict) == (Status.RECOVERED, Verdict.EXACT)
    assert error < 1e-7


def test_members_noise_in_each_others_gradients_is_no_recovery_where_it_cannot_be_taken_off():
    settings = {"widths": {"bank": 5, "shop": 5, "fintech": 1}, "adversary": ("bank", "shop")}
    settings |= {"noisy": ("bank", "shop"), "approximation": "piecewise"}
    guess, error, _ = attempt("residual-recovery", EXCHANGE, **settings)
    assert error > 0.01
    assert guess.status is Status.PARTIAL
    assert "each other's" in guess.why


@pytest.mark.parametrize("name", ["residual-recovery", "score-recovery"])
def test_where_it_is_not_known_whether_there_is_noise_nothing_is_called_recovered(name):
    federation = vertical({"bank": 12, "fintech": 1}, sealed(epochs=2), n_rows=24, protocol=EXCHANGE)
    result, attack = run(federation), ATTACKS.get(name)
    target = Secret(attack.produces, JOINT if attack.produces is SecretKind.RESIDUALS else "fintech")
    known = result.transcript.facts.seen_by(("bank",), None)
    for noise, status in ((0.0, Status.RECOVERED), (None, Status.PARTIAL)):
        view = result.view(("bank",), target, replace(known, score_noise=noise))
        assert attack().run(view, rng=np.random.default_rng(0)).status is status


def facts(**changes) -> Facts:
    parties = (PartyFacts("bank", Role.ACTIVE, 5), PartyFacts("shop", Role.PASSIVE, 2), PartyFacts("ref", Role.ARBITER))
    return replace(Facts("p", parties, approximation="taylor", n_rows=10, batch_size=5), **changes)


def test_a_level_for_each_party():
    seen = GaussianNoise(sigma=2.0, parties=("bank",)).declare(facts()).seen_by(("bank",), None)
    assert (seen.outside_noise, seen.own_noise, seen.score_noise) == (0.0, 2.0, 2.0)
    everyone = GaussianNoise(sigma=2.0).declare(facts())
    assert everyone.outside_noise == pytest.approx(np.sqrt(8))
    assert everyone.seen_by(("shop",), None).outside_noise == 2.0
    assert DpPaillier().declare(facts()).seen_by(("bank",), None).outside_noise is None


def test_facts_without_levels_of_parties_have_one_for_all():
    seen = facts(score_noise=1.5).seen_by(("bank",), None)
    assert (seen.outside_noise, seen.own_noise) == (1.5, 1.5)


def test_own_noise_under_a_residual_that_is_not_linear_leaves_the_course_open():
    own = GaussianNoise(parties=("bank",)).declare(facts(approximation="cubic")).seen_by(("bank",), None)
    assert no_noise(own).state is State.HOLDS
    assert course_known(own).state is State.FAILS
    together = GaussianNoise().declare(facts(approximation="cubic")).seen_by(("bank", "shop"), None)
    assert no_noise(together).state is State.FAILS
    assert "each other's" in no_noise(together).detail
