"""Noise is of the size that it was asked for: in the hook, and in what a run really sends."""

from __future__ import annotations

import numpy as np
import pytest

from federations import sealed, vertical
from fedleak.core.payload import Array
from fedleak.defenses.coarse_confidences import ConfidenceNoise
from fedleak.defenses.inexact_sharing import DpPaillier, GaussianNoise, UpdateNoise
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from horizontal import binary, federation, train

N = 40_000  # the standard deviation of so many is known to 0.4 %


def test_an_update_that_is_sent_is_off_by_sigma():
    """What a party puts under the mask in the first round, with noise and without: the rows are the same."""
    fed = federation({"clinic": binary(5, 1500, 1), "lab": binary(5, 1500, 2)}, HorizontalLogisticSettings(rounds=1))
    noisy = train(fed, hooks=UpdateNoise(sigma=0.01).hooks(fed))
    exact = train(fed)

    def update(result, name):
        return next(record.value.values for record in result.locals[name] if record.name == "update")

    off = [update(noisy, name) - update(exact, name) for name in ("clinic", "lab")]
    for one in off:
        assert one.std() == pytest.approx(0.01, rel=0.06)
        assert abs(one.mean()) < 4 * 0.01 / np.sqrt(len(one))
    assert abs(np.corrcoef(*off)[0, 1]) < 0.1, "every party draws its own"


class Memory:
    """A party's state, of which noise asks only to be remembered."""

    def __init__(self) -> None:
        self.kept: list[Array] = []

    def record(self, step, name, value) -> None:
        self.kept.append(value)


@pytest.mark.parametrize("defense", [GaussianNoise(sigma=0.7), DpPaillier(epsilon=0.5)])
def test_shared_scores_are_off_by_what_is_declared(defense):
    fed = vertical({"bank": 2, "fintech": 2}, sealed())
    plain = PROTOCOLS.get(fed.protocol)().public_facts(fed, None, parties=fed.party_facts, n_rows=fed.n_rows)
    declared = defense.declare(plain)
    levels = {party.name: party.score_noise for party in declared.parties}
    hooks = defense.hooks(fed)
    assert {hook.party for hook in hooks} == {"bank", "fintech"}
    for hook in hooks:
        memory = Memory()
        sent = hook.act(np.ones(N), memory, np.random.default_rng(3))
        assert (sent - 1).std() == pytest.approx(levels[hook.party], rel=0.02)
        np.testing.assert_allclose(memory.kept[0].values, sent - 1, atol=1e-9)


def test_confidences_are_off_by_sigma_and_stay_confidences():
    (hook,) = ConfidenceNoise(sigma=0.05).hooks(vertical({"bank": 2, "fintech": 2}, sealed()))
    sent = hook.act(Array(np.full((N, 2), 0.5)), Memory(), np.random.default_rng(3)).values
    assert sent.std() == pytest.approx(0.05, rel=0.02)
    edge = hook.act(Array(np.tile([0.0, 1.0], (N, 1))), Memory(), np.random.default_rng(3)).values
    assert (edge.min(), edge.max()) == (0.0, 1.0)
    assert np.mean(edge == [0.0, 1.0]) == pytest.approx(0.5, abs=0.02)
