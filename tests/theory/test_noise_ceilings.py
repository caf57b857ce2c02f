"""Ceilings: the best attack on the Gaussian mechanism reaches them, and none exceeds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts
from fedleak.theory.condition import State
from fedleak.theory.noise_ceilings import (
    LABEL_STEP,
    LabelCeiling,
    ReconstructionCeiling,
    accuracy_ceiling,
    area_ceiling,
    label_ceiling,
    label_separation,
    reconstruction_ceiling,
    separation_of_budget,
)

N_DRAWS = 200_000
WITHIN = 4 * 0.5 / N_DRAWS**0.5  # four standard errors


def noised(labels: np.ndarray, sigma: float, epochs: int, rng: np.random.Generator) -> np.ndarray:
    """The mean of a row's noised scores over the epochs: what is sufficient, where weights stand still."""
    return -2 * (2 * labels - 1) + sigma / epochs**0.5 * rng.standard_normal(len(labels))


@pytest.mark.parametrize("prior", [0.5, 0.2, 0.05])
@pytest.mark.parametrize(("sigma", "epochs"), [(20.0, 3), (4.0, 1), (2.0, 4)])
def test_the_likelihood_ratio_reaches_the_accuracy_and_nothing_else_does(sigma, epochs, prior):
    rng = np.random.default_rng(1)
    labels = (rng.random(N_DRAWS) < prior).astype(float)
    seen = noised(labels, sigma, epochs, rng)
    still = label_separation(sigma=sigma, n_rows=10, batch_size=10, epochs=epochs, learning_rate=0.0, max_row_norm=1.0)
    ceiling = accuracy_ceiling(still.one, prior)
    assert still.one == pytest.approx(LABEL_STEP * epochs**0.5 / sigma)
    odds = np.log(prior / (1 - prior)) - LABEL_STEP * seen * epochs / sigma**2
    assert np.mean((odds > 0) == labels) == pytest.approx(ceiling, abs=WITHIN)
    for threshold in np.linspace(-3, 3, 13):
        assert np.mean((seen < threshold) == labels) <= ceiling + WITHIN


@pytest.mark.parametrize(("sigma", "epochs"), [(20.0, 3), (4.0, 1), (2.0, 4)])
def test_the_order_of_noised_scores_reaches_the_area(sigma, epochs):
    rng = np.random.default_rng(2)
    positive, negative = (noised(np.full(N_DRAWS, label), sigma, epochs, rng) for label in (1.0, 0.0))
    still = label_separation(sigma=sigma, n_rows=10, batch_size=10, epochs=epochs, learning_rate=0.0, max_row_norm=1.0)
    assert np.mean(positive < negative) == pytest.approx(area_ceiling(still), abs=WITHIN)


def shared_scores(
    rows: np.ndarray, labels: np.ndarray, received: np.ndarray, batches: list[np.ndarray], rate: float
) -> np.ndarray:
    """All that the label party shares, without the noise: its weights follow what it receives and its labels."""
    weights, found = np.zeros(rows.shape[1]), []
    for number, batch in enumerate(batches):
        own = rows[batch] @ weights - 2 * labels[batch]
        found.append(own)
        weights = weights - rate / (4 * len(batch)) * rows[batch].T @ (own + received[number, : len(batch)])
    return np.concatenate(found)


@pytest.mark.parametrize("seed", range(30))
def test_no_label_moves_the_shared_scores_further_than_the_bound(seed):
    """Whatever others send: single labels, and pairs that are swapped, over random tables, batches and rates."""
    rng = np.random.default_rng(seed)
    n_rows, width, epochs = int(rng.integers(3, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
    size, rate = int(rng.integers(1, n_rows + 1)), float(rng.choice([0.1, 1.0, 8.0]))
    rows = rng.standard_normal((n_rows, width))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * rng.choice([1.0, 2.0], size=(n_rows, 1))
    labels = rng.choice([-1.0, 1.0], size=n_rows)
    labels[:2] = -1.0, 1.0
    batches = [
        order[start : start + size]
        for order in (rng.permutation(n_rows) for _ in range(epochs))
        for start in range(0, n_rows, size)
    ]
    received = 50 * rng.standard_normal((len(batches), size))
    bound = label_separation(
        sigma=1.0, n_rows=n_rows, batch_size=size, epochs=epochs, learning_rate=rate, max_row_norm=1.0
    )
    plain = shared_scores(rows, labels, received, batches, rate)
    for row in range(n_rows):
        flipped = labels.copy()
        flipped[row] *= -1
        assert np.linalg.norm(shared_scores(rows, flipped, received, batches, rate) - plain) <= bound.one + 1e-9
    swapped = np.concatenate([labels[1::-1], labels[2:]])
    assert np.linalg.norm(shared_scores(rows, swapped, received, batches, rate) - plain) <= bound.pair + 1e-9


def test_a_record_is_reconstructed_as_often_as_the_best_test_allows():
    """One of k equally likely records, far apart, through noise: never above the ceiling; for k = 2 and a shift of mu
    the two hypotheses are all there is, and the ceiling is that of the test."""
    rng = np.random.default_rng(3)
    mu, k = 1.0, 10
    true = rng.integers(k, size=N_DRAWS)
    seen = rng.standard_normal((N_DRAWS, k))
    seen[np.arange(N_DRAWS), true] += mu / 2**0.5  # any two records are mu apart
    assert np.mean(seen.argmax(axis=1) == true) <= reconstruction_ceiling(mu, 1 / k)
    assert reconstruction_ceiling(0.0, 0.3) == pytest.approx(0.3)
    assert reconstruction_ceiling(mu, 0.0) == 0.0
    assert reconstruction_ceiling(mu, 1.0) == 1.0
    assert reconstruction_ceiling(mu, 0.5) == pytest.approx(0.8413447)


def test_more_noise_and_a_rarer_class_are_told_as_they_should():
    assert accuracy_ceiling(0.0, 0.3) == 0.7
    assert accuracy_ceiling(1.0, 0.0) == 1.0
    assert accuracy_ceiling(2.0) == pytest.approx(0.8413447)
    assert separation_of_budget(0.5, 0.1) == pytest.approx(0.2225, abs=1e-4)


FACTS = Facts(
    "vertical-logistic",
    (PartyFacts("bank", Role.ACTIVE, 10, 20.0), PartyFacts("fintech", Role.PASSIVE, 20, 20.0)),
    n_rows=455,
    batch_size=16,
    n_epochs=3,
    learning_rate=0.09,
    approximation="taylor",
    score_noise=20.0,
    max_row_norm=1.0,
    own=VerticalLogisticFacts(gradients="encrypted-exchange"),
    adversary=("fintech",),
)


def test_the_built_in_scenario_has_a_ceiling():
    found = label_ceiling(FACTS)
    assert found is not None
    assert area_ceiling(found) == pytest.approx(0.600, abs=5e-4)
    assert "no AUC is above 0.600" in LabelCeiling.assess(FACTS).conclusion


@pytest.mark.parametrize(
    "broken",
    [
        {"approximation": "cubic"},
        {"own": VerticalLogisticFacts(gradients="opened-shares")},  # labels enter without noise
        {"own": None},
        {"max_row_norm": None},  # nothing bounds how far a row moves the weights
        {"learning_rate": 9.0},
        {"n_epochs": None},
        {"adversary": ("bank",)},
        {"parties": (PartyFacts("bank", Role.ACTIVE, 10, 0.0), PartyFacts("fintech", Role.PASSIVE, 20, 20.0))},
        {
            "parties": (PartyFacts("bank", Role.ACTIVE, 10), PartyFacts("fintech", Role.PASSIVE, 20)),
            "score_noise": None,
        },
    ],
    ids=str,
)
def test_nothing_is_said_where_a_condition_fails(broken):
    facts = replace(FACTS, **broken)
    assert label_ceiling(facts) is None
    assert LabelCeiling.assess(facts).state is not State.HOLDS


def test_reconstruction_rests_on_an_assumption_and_says_so():
    own = VerticalLogisticFacts(gradients="encrypted-exchange", epsilon=0.5, delta=0.1)
    found = ReconstructionCeiling.assess(replace(FACTS, own=own))
    assert found.state is State.UNKNOWN
    assert "1.8% for 1%" in found.conclusion
