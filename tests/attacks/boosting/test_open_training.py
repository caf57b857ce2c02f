"""Boosted trees in plaintext: labels, split points and intervals, from either side and at the aggregator."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, with_labels
from federations import run, vertical
from fedleak.attacks.boosting.offered_splits import OfferedIntervals, OfferedThresholds
from fedleak.attacks.boosting.sample_gradients import SampleGradients
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.errors import InputError
from fedleak.core.whole.federation import Party, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols.boosting.plain_boosting import PlainBoostingSettings
from fedleak.trial.play import play

QUICK = {"n_trees": 3, "depth": 3, "bins": 8}
RNG = np.random.default_rng(0)


def federation(labels=None, **changes):
    found = vertical(
        {"bank": 2, "fintech": 3}, PlainBoostingSettings(**{**QUICK, **changes}), n_rows=40, protocol="plain-boosting"
    )
    return found if labels is None else with_labels(found, labels)


def attacked(attack, coalition, kind, owner, played):
    return attack().run(played.view(coalition, Secret(kind, owner)), rng=RNG)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_signs_of_gradients_are_the_classes(n_classes):
    labels = np.random.default_rng(4).integers(0, n_classes, 40)
    played = play(federation(labels), Randomness.published(0))
    guess = attacked(SampleGradients, ("fintech",), SecretKind.LABELS, "bank", played)
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values[:, 0], labels)
    assert SampleGradients.predict(played.seen_by(("fintech",))).verdict is Verdict.EXACT


def test_numbers_are_the_first_score_less_the_gradient():
    labels = np.random.default_rng(4).normal(50, 20, 40)
    played = play(federation(labels), Randomness.published(0))
    guess = attacked(SampleGradients, ("fintech",), SecretKind.LABELS, "bank", played)
    assert np.allclose(guess.values[:, 0], labels, atol=1e-9)
    assert guess.certificate


def test_randomised_labels_are_not_certified():
    labels = np.random.default_rng(4).integers(0, 2, 40)
    played = play(federation(labels, label_epsilon=0.5), Randomness.published(0))
    guess = attacked(SampleGradients, ("fintech",), SecretKind.LABELS, "bank", played)
    assert not guess.certificate
    assert guess.status is Status.PARTIAL
    assert (guess.values[:, 0] != labels).any()
    assert SampleGradients.predict(played.seen_by(("fintech",))).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(("adversary", "victim"), [("bank", "fintech"), ("fintech", "bank")])
def test_split_points_and_intervals_from_either_side(adversary, victim):
    played = play(federation(), Randomness.published(0))
    secret = Secret(SecretKind.THRESHOLDS, victim)
    told = attacked(OfferedThresholds, (adversary,), SecretKind.THRESHOLDS, victim, played)
    truth = played.run.truth.of(secret)
    assert dict(zip(map(tuple, told.ids), told.values[:, 0], strict=True)) == dict(
        zip(map(tuple, truth.ids), truth.values[:, 0], strict=True)
    )
    found = attacked(OfferedIntervals, (adversary,), SecretKind.RANGES, victim, played)
    whole = played.run.truth.of(Secret(SecretKind.FEATURES, victim))
    cells = whole.values[np.searchsorted(whole.ids, found.ids)]
    assert np.isfinite(found.intervals).any(axis=2).mean() > 0.3
    assert ((found.intervals[..., 0] <= cells) & (cells <= found.intervals[..., 1])).all()


def test_the_aggregator_reads_labels_without_rows_of_its_own():
    whole = federation()
    aggregator = Party("aggregator", "server", (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0)), None))
    played = play(type(whole)(whole.protocol, (*whole.parties, aggregator), whole.settings), Randomness.published(0))
    guess = attacked(SampleGradients, ("aggregator",), SecretKind.LABELS, "bank", played)
    assert np.array_equal(guess.values[:, 0], whole.parties[0].train.labels)


def test_the_trees_are_those_of_encrypted_training():
    """The same splits as with secureboost: what differs is who sees them."""
    alike = {"n_trees": 2, "depth": 3, "bins": 8, "l2": 0.1, "min_gain": 1e-3, "min_child_weight": 0.0}
    plain = run(federation(**alike))
    encrypted = run(boosted({"bank": 2, "fintech": 3}, n_rows=40, packed=False, **alike))
    assert plain.utility == encrypted.utility


def test_one_label_holder_is_needed():
    lone = federation()
    with pytest.raises(InputError, match="plain-boosting must have one active and one or more passive parties"):
        run(type(lone)(lone.protocol, lone.parties[:1], lone.settings))
