"""Gradients of embeddings under noise: what the noise has of its power, and what it makes alike."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run
from fedleak.core.errors import InputError
from fedleak.defenses.embedding_blurring import EmbeddingGradientNoise, Marvell, MaxNormNoise, closest_gaussians
from network_runs import cut_table, split

pytest.importorskip("torch")


def sent(defense=None):
    """Gradients of all rows, by id, of the same run with and without the defense."""
    federation = split(cut_table(n_rows=200, rounds=1, batch_size=200))
    result = run(federation, hooks=() if defense is None else defense.hooks(federation))
    by_step = {message.step: message.payload.values for message in result.transcript.messages}
    return np.asarray(by_step["train.embedding-gradients"][np.argsort(by_step["train.batch-rows"])], dtype=np.float64)


@pytest.fixture(scope="module")
def exact():
    return sent()


def test_even_noise_has_its_power(exact) -> None:
    noise = sent(EmbeddingGradientNoise(power=4.0)) - exact
    longest = np.linalg.norm(exact, axis=1).max()
    assert (noise**2).sum(axis=1).mean() == pytest.approx(4 * longest**2, rel=0.2)
    assert np.linalg.cond(np.cov(noise.T)) < 2


def test_stretched_gradients_stay_on_their_lines(exact) -> None:
    found = sent(MaxNormNoise())
    along = (found * exact).sum(axis=1) / (exact**2).sum(axis=1)
    assert found == pytest.approx(along[:, None] * exact, abs=1e-6)
    longest = np.linalg.norm(exact, axis=1).max()
    assert (found**2).sum(axis=1).mean() == pytest.approx(longest**2, rel=0.3)


def test_marvell_spends_its_power_and_no_more(exact) -> None:
    noise = sent(Marvell(power=9.0)) - exact
    labels = split(cut_table(n_rows=200)).parties[0].train.labels > 0
    apart = exact[labels].mean(axis=0) - exact[~labels].mean(axis=0)
    assert (noise**2).sum(axis=1).mean() == pytest.approx(9 * (apart**2).sum(), rel=0.3)


@pytest.mark.parametrize("spreads", [[0.1, 0.1], [2.0, 0.01]])
def test_what_is_found_is_closer_than_what_it_costs_as_much(spreads) -> None:
    """Against noise in all directions alike, and against all of it along the line."""
    power, share, width = 5.0, 0.2, 4

    def divergence(noise) -> float:
        (a1, a2), (b1, b2) = [[spread + one for one in pair] for spread, pair in zip(spreads, noise, strict=True)]
        return a1 / b1 + b1 / a1 + (width - 1) * (a2 / b2 + b2 / a2) + 1 / a1 + 1 / b1

    found = closest_gaussians(power, share, spreads, width)
    cost = sum(part * (one[0] + (width - 1) * one[1]) for part, one in zip((share, 1 - share), found, strict=True))
    assert cost <= power * (1 + 1e-6)
    even = ((power / width, power / width),) * 2
    for other in (even, ((power, 0.0), (power, 0.0))):
        assert divergence(found) <= divergence(other) + 1e-9
    assert divergence(found) < divergence(even)


@pytest.mark.parametrize("wrong", [lambda: Marvell(power=0.0), lambda: MaxNormNoise(reach=1.5)])
def test_wrong_parameters_are_told(wrong) -> None:
    with pytest.raises(InputError, match=r"must be above 0 and"):
        wrong()
