"""Scores of training rows that validation sends in plaintext: no batch is too large for what follows from them."""

from __future__ import annotations

import numpy as np
import pytest

from federations import sealed_arbiter, vertical
from fedleak.attacks import ATTACKS
from fedleak.attacks.residuals.validation_scores import ValidationScores
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.errors import InputError
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vocabulary import VALIDATION_SCORE
from fedleak.trial.play import play
from random_cases import seeds

PROTOCOL = "vertical-logistic-arbiter"
SCORES = Secret(SecretKind.PARTIAL_SCORES, "fintech")


def federation(seed: int = 0, widths=None, **changes):
    """24 rows, of which the bank has too few columns for any batch."""
    given = {"batch_size": 24, "epochs": 14, "learning_rate": 0.5, "initialisation": "normal", "validate_every": 1}
    widths = widths or {"bank": 2, "fintech": 3, "referee": 0}
    settings = sealed_arbiter(**{**given, **changes})
    return vertical(widths, settings, n_rows=24, seed=seed, protocol=PROTOCOL)


def attacked(name: str, fed, target: Secret, seed: int = 1):
    return play(fed, Randomness.published(seed)).attempt(ATTACKS.get(name), ("bank",), target, isolated=False)


def truth_of(fed, target: Secret, seed: int = 1):
    return play(fed, Randomness.published(seed)).run.truth.of(target).values


def test_scores_are_read_off_after_every_epoch_but_the_first():
    fed = federation()
    guess = attacked("validation-scores", fed, SCORES).guess
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rounds with known scores"] == 13
    truth = play(fed, Randomness.published(1)).run.truth.of(SCORES)
    place = {tuple(one): value for one, value in zip(truth.ids.tolist(), truth.values[:, 0], strict=True)}
    expected = [place[tuple(one)] for one in guess.ids.tolist()]
    np.testing.assert_allclose(guess.values[:, 0], expected, atol=1e-14)


def test_from_zero_weights_every_round_is_known():
    guess = attacked("validation-scores", federation(initialisation="zero"), SCORES).guess
    assert guess.status is Status.RECOVERED


def test_parties_are_seen_apart_and_mini_batches_in_part():
    fed = federation(widths={"bank": 2, "fintech": 3, "shop": 2, "referee": 0}, batch_size=8, epochs=4)
    guess = attacked("validation-scores", fed, Secret(SecretKind.PARTIAL_SCORES, "shop")).guess
    assert guess.status is Status.PARTIAL
    assert guess.evidence == {"rounds with known scores": 3, "rounds": 12}


def test_inner_products_follow_without_a_condition_on_the_batch():
    gram = Secret(SecretKind.GRAM, "fintech")
    for widths in (None, {"bank": 2, "fintech": 2, "shop": 2, "referee": 0}):
        owner = gram if widths is None else Secret(SecretKind.GRAM, "fintech+shop")
        fed = federation(widths=widths)
        guess = attacked("gram-recovery", fed, owner).guess
        assert guess.status is Status.RECOVERED, guess.why
        truth = truth_of(fed, owner)
        assert np.linalg.norm(guess.values - truth) < 1e-4 * np.linalg.norm(truth)
    hidden = attacked("gram-recovery", federation(validate_every=0), gram).guess
    assert hidden.status is not Status.RECOVERED


@pytest.mark.parametrize("seed", seeds(4))
def test_inner_products_that_are_called_recovered_are(seed):
    """Expected errors are three draws' worst, and are held to ten times that."""
    rng = np.random.default_rng(seed)
    widths = {"bank": int(rng.integers(1, 4)), "fintech": int(rng.integers(1, 6)), "referee": 0}
    fed = federation(seed, widths, epochs=int(rng.integers(3, 20)), learning_rate=float(rng.choice([0.1, 0.5, 2.0])))
    target = Secret(SecretKind.GRAM, "fintech")
    guess = attacked("gram-recovery", fed, target, seed).guess
    if guess.status is Status.RECOVERED:
        truth = truth_of(fed, target, seed)
        off = np.linalg.norm(guess.values - truth) / np.linalg.norm(truth)
        assert off <= max(10 * guess.evidence["expected relative error"], 1e-9), (seed, off)


def test_nobody_else_gets_them_and_without_validation_nobody():
    fed = federation()
    run = play(fed, Randomness.published(1)).run
    sent = [m for m in run.transcript.messages if m.step == VALIDATION_SCORE.name]
    assert {(m.sender, m.receiver) for m in sent} == {("fintech", "bank")}
    assert len(sent) == 14
    protocol, parties = PROTOCOLS.get(PROTOCOL), fed.party_facts
    assert Capability.VALIDATION_SCORES in protocol.reveals(fed.settings, parties, ("bank",))
    assert Capability.VALIDATION_SCORES not in protocol.reveals(fed.settings, parties, ("fintech",))
    silent = federation(validate_every=0)
    revealed = protocol.reveals(silent.settings, parties, ("bank",))
    facts = play(silent, Randomness.published(1)).run.transcript.facts.seen_by(("bank",), revealed)
    assert ValidationScores.predict(facts).verdict is Verdict.IMPOSSIBLE
    with pytest.raises(InputError, match="validate_every must be 0 or more"):
        sealed_arbiter(validate_every=-1)
