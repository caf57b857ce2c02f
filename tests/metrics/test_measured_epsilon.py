"""The measured epsilon is a lower bound: it holds for mechanisms of known epsilon, and is not empty."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.measured_epsilon import measured_epsilon
from fedleak.metrics.metric import Answered


def answered(said: np.ndarray, labels: np.ndarray) -> Answered:
    ids = np.arange(len(labels))
    guess = Guess(Secret(SecretKind.LABELS, "bank"), Status.PARTIAL, ids, said[:, None].astype(float))
    return Answered(guess, SecretValues.spanning(ids, ("label",), labels[:, None].astype(float)), Knowledge())


def randomised(labels: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Warner's randomised response: exactly epsilon-private, and no answer is better than what it says."""
    kept = rng.random(len(labels)) < exp(epsilon) / (1 + exp(epsilon))
    return np.where(kept, labels, 1 - labels)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_randomised_response_is_not_said_to_be_worse_than_it_is(epsilon, share):
    rng = np.random.default_rng(1)
    labels = (np.arange(200) < share * 200).astype(float)
    found = [measured_epsilon(answered(randomised(labels, epsilon, rng), labels), delta=0.0) for _ in range(400)]
    assert np.mean(np.array(found) > epsilon) <= 0.05


def test_with_many_rows_it_comes_near():
    rng = np.random.default_rng(2)
    labels = (np.arange(100_000) % 2).astype(float)
    assert measured_epsilon(answered(randomised(labels, 1.0, rng), labels), delta=0.0) == pytest.approx(1.0, abs=0.05)


def test_delta_is_taken_off_and_all_right_is_finite():
    labels = (np.arange(100) % 2).astype(float)
    without, with_delta = (measured_epsilon(answered(labels, labels), delta=delta) for delta in (0.0, 0.1))
    assert log(10) < with_delta < without < inf
    assert measured_epsilon(answered(1 - labels, labels), delta=0.0) == 0.0, "an answer that is turned is another one"


def test_one_class_tells_nothing():
    assert measured_epsilon(answered(np.ones(10), np.ones(10)), delta=0.0) is None
