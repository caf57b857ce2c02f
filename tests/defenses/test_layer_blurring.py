"""Gradients of layers under noise, pruning, clipping, and fakes in their place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run
from fedleak.core.errors import InputError
from fedleak.defenses.fake_gradients import FakeGradients
from fedleak.defenses.layer_blurring import DpSgd, GradientPruning, LayerGradientNoise
from fedleak.theory.sampled_gaussian import epsilon_of
from network_runs import cut_table, row_clients

pytest.importorskip("torch")


def sent(defense=None, **changes):
    """The first gradient of fintech, of the same run with and without the defense."""
    federation = cut_table(rounds=1, **changes)
    result = run(federation, hooks=() if defense is None else defense.hooks(federation))
    message = next(m for m in result.transcript.messages if (m.step, m.sender) == ("train.layer-gradients", "fintech"))
    return {name: np.asarray(part.values, dtype=np.float64) for name, part in message.payload.items.items()}


@pytest.fixture(scope="module")
def exact():
    return sent()


def length(gradient) -> float:
    return float(np.sqrt(sum((part**2).sum() for part in gradient.values())))


def test_noise_is_in_proportion_to_each_tensor(exact) -> None:
    found = sent(LayerGradientNoise(share=2.0))
    for name, part in exact.items():
        assert np.linalg.norm(found[name] - part) == pytest.approx(2 * np.linalg.norm(part), rel=0.6)


def test_only_the_largest_are_sent(exact) -> None:
    found = sent(GradientPruning(fraction=0.25))
    for name, part in exact.items():
        kept = found[name] != 0
        assert kept.sum() == -(-part.size // 4)
        assert found[name][kept] == pytest.approx(part[kept])
        assert np.abs(part[kept]).min() >= np.abs(part[~kept]).max()


def test_rows_are_cut_one_by_one_and_the_noise_is_that_of_the_budget(exact) -> None:
    unharmed = sent(DpSgd(clip=1e6, noise=1e-12))
    assert all(unharmed[name] == pytest.approx(part, abs=1e-6) for name, part in exact.items())
    assert length(sent(DpSgd(clip=1e-3, noise=1e-9))) <= 1e-3  # a mean of rows that are no longer than that
    noise = sent(DpSgd(clip=1e-9, noise=5e9), batch_size=20)  # next to nothing of the rows is left
    entries = np.concatenate([part.ravel() for part in noise.values()])
    assert entries.std() == pytest.approx(5 / 20, rel=0.2)


def test_the_budget_is_told_for_both_kinds_of_readers() -> None:
    (first, second) = DpSgd(noise=2.0).notes(cut_table(n_rows=24, rounds=48, batch_size=6))
    known = epsilon_of(noise=2.0, sampling=1.0, steps=12, delta=1e-5)  # a row is in a quarter of 48 batches
    assert first.startswith(f"epsilon {known:.3g} at delta 1e-05 towards who knows the rows of each batch")
    assert "embeddings" in second


def test_fakes_keep_order_and_length_and_nothing_else(exact) -> None:
    found = sent(FakeGradients(candidates=3))
    for name, part in exact.items():
        assert np.array_equal(np.argsort(found[name], axis=None), np.argsort(part, axis=None, kind="stable"))
        assert np.linalg.norm(found[name]) == pytest.approx(np.linalg.norm(part), rel=1e-5)
    assert length({name: found[name] - part for name, part in exact.items()}) > 0.1 * length(exact)


def test_fakes_as_printed_have_the_printed_variance() -> None:
    found = sent(FakeGradients(scaled=False, candidates=1), bottom=("linear 40", "activation sigmoid", "linear 9"))
    entries = np.concatenate([part.ravel() for part in found.values()])
    assert entries.var() == pytest.approx(1.1, rel=0.2)


def test_a_threshold_bounds_the_distance(exact) -> None:
    found = sent(FakeGradients(scaled=False, threshold=0.05))
    off = length({name: found[name] - part for name, part in exact.items()})
    assert off == pytest.approx(0.05 * length(exact), rel=1e-3)


def test_changes_of_local_steps_are_not_gradients() -> None:
    federation = row_clients()
    changed = replace(federation, settings=replace(federation.settings, update="change"))
    with pytest.raises(InputError, match='update must be "gradient" for fake-gradients'):
        FakeGradients().configure(changed)
    for wrong in (lambda: DpSgd(clip=0.0), lambda: GradientPruning(fraction=1.0), lambda: FakeGradients(candidates=0)):
        with pytest.raises(InputError):
            wrong()
