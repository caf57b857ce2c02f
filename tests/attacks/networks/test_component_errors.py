"""Many pictures from one gradient: components are near, zeros make them exact, and nothing unproved is claimed."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks import solved_batch as solving
from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.component_errors import component_errors
from fedleak.attacks.networks.kinked_rows import kinked_rows
from fedleak.attacks.networks.picture_components import component_mixes
from fedleak.attacks.networks.solved_batch import FITS, LARGEST, solved_batch
from fedleak.attacks.networks.sparse_errors import SparseErrors
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_torch import arrays_of, gradients, tensors_of
from fedleak.models.layers import layer_of_line
from picture_gradients import N_CLASSES, equations_of_gradient, picture_gradient

MANY = LARGEST + 4
WIDE = ("flatten", "linear 256", "activation relu", "linear 24", "activation relu", f"linear {N_CLASSES}")


def test_more_pictures_than_are_searched_for_come_out_exactly():
    seen, pictures, labels = picture_gradient(WIDE, n_rows=MANY, seed=1, side=20, dark=True)
    found = solved_batch(seen, np.random.default_rng(0))
    assert found.fits
    assert found.why == ""
    far = np.abs(found.hidden.rows[:, None] - pictures.reshape(MANY, -1)[None]).max(axis=2)
    assert sorted(far.argmin(axis=1)) == list(range(MANY))
    assert far.min(axis=1).max() < 1e-4
    assert (labels[far.argmin(axis=1)] == found.hidden.labels).all()


def test_a_changed_later_gradient_is_not_vouched_for():
    seen, _, _ = picture_gradient(WIDE, n_rows=MANY, seed=1, side=20, dark=True)
    changed = {name: one * (1.1 if name == "5.weight" else 1.0) for name, one in seen.values.items()}
    found = solved_batch(ClientGradient(0, seen.network, changed, seen.epsilon, None, MANY), np.random.default_rng(0))
    assert not found.fits
    assert found.why != ""


def test_behind_a_sigmoid_components_are_near_and_nothing_is_claimed():
    lines = ("flatten", "linear 256", "activation sigmoid", f"linear {N_CLASSES}")
    seen, pictures, _ = picture_gradient(lines, n_rows=MANY, seed=2, side=20, dark=True)
    found = solved_batch(seen, np.random.default_rng(0))
    assert not found.fits
    assert found.counts is None
    assert found.why.startswith(f"the network confirms 0 of {MANY} rows")
    true = pictures.reshape(MANY, -1)
    alike = np.abs(np.corrcoef(found.hidden.rows, true)[:MANY, MANY:]).max(axis=1)
    assert np.median(alike) > 0.9
    blind = np.abs(np.corrcoef(np.random.default_rng(5).permuted(true, axis=1), true)[:MANY, MANY:]).max(axis=1)
    assert np.median(blind) < 0.5


def test_rows_that_zeros_give_stand_beside_components_of_the_others(monkeypatch):
    """Two errors come as their sum and difference: their rows are not confirmed, all others are."""
    seen, pictures, _ = picture_gradient(WIDE, n_rows=MANY, seed=1, side=20, dark=True)

    def two_mixed(equations, shape, rng):
        for found in component_errors(equations, shape, rng):
            errors = found.errors.copy()
            errors[:, :2] = found.errors[:, :2] @ [[1.0, 1.0], [1.0, -1.0]]
            yield SparseErrors(errors, found.n_starts)

    monkeypatch.setattr(solving, "component_errors", two_mixed)
    found = solved_batch(seen, np.random.default_rng(0))
    assert not found.fits
    assert f"confirms {MANY - 2} of {MANY}" in found.why
    far = np.abs(found.hidden.rows[:, None] - pictures.reshape(MANY, -1)[None]).max(axis=2)
    assert (far.min(axis=1) < 1e-4).sum() >= MANY - 2
    assert sorted(far.argmin(axis=1)) == list(range(MANY))


def test_more_of_them_are_near_alone_and_still_more_are_refused(monkeypatch):
    seen, _, _ = picture_gradient(WIDE, n_rows=MANY, seed=1, side=20, dark=True)
    monkeypatch.setattr(solving, "MOST_EXACT", MANY - 1)
    assert "confirms 0 of" in solved_batch(seen, np.random.default_rng(0)).why
    monkeypatch.setattr(solving, "MOST_NEAR", MANY - 1)
    refused = solved_batch(seen, np.random.default_rng(0))
    assert refused.hidden is None
    assert f"up to {MANY - 1} pictures" in refused.why


def test_rows_that_are_no_pictures_are_refused():
    rng = np.random.default_rng(0)
    lines = [layer_of_line(line) for line in ("linear 128", "activation relu", f"linear {N_CLASSES}")]
    network = initial_network((50,), lines, "torch", rng)
    import torch

    rows, labels = torch.tensor(rng.random((MANY, 50)).astype(np.float32)), torch.arange(MANY) % N_CLASSES
    made = arrays_of(gradients(network, tensors_of(network.parameters, wanted=True), rows, labels))
    values = {name: np.asarray(one, np.float64) for name, one in made.items()}
    found = solved_batch(ClientGradient(0, network, values, 2.0**-24, None, None), rng)
    assert found.hidden is None
    assert f"this has {MANY}" in found.why


def test_noise_of_low_rank_has_no_zeros_and_gives_nothing():
    rng = np.random.default_rng(3)
    seen, _, _ = picture_gradient(n_rows=6, seed=3)
    noise = rng.standard_normal((96, 6)) @ rng.standard_normal((6, 145))
    equations, _ = equations_of_gradient(seen, noise)
    assert list(component_errors(equations, seen.network.input_shape, rng)) == []


def test_components_are_among_the_rows_they_may_be_sums_of():
    seen, pictures, _ = picture_gradient(n_rows=6, seed=4, side=20, dark=True)
    factors = equations_of_gradient(seen)[0].factors
    whole = np.column_stack([pictures.reshape(6, -1), np.ones(6)])
    among = np.linalg.qr((whole[:4] @ factors.basis).T)[0].T
    mixes = component_mixes(factors, seen.network.input_shape, among, np.random.default_rng(0))
    assert len(mixes) == 4
    assert np.allclose(mixes @ factors.basis[-1], 1)
    assert np.linalg.matrix_rank(np.vstack([among, mixes]), tol=1e-9) == 4
    alike = np.abs(np.corrcoef(mixes @ factors.basis[:-1].T, pictures[:4].reshape(4, -1))[:4, 4:])
    assert alike.max(axis=0).min() > 0.9


@pytest.mark.parametrize("seed", range(100, 120))
def test_what_is_vouched_for_is_exact(seed):
    """Of batches small enough for many of them."""
    seen, pictures, _ = picture_gradient(n_rows=4 + seed % 7, seed=seed)
    equations, gradient = equations_of_gradient(seen)
    candidates = component_errors(equations, seen.network.input_shape, np.random.default_rng(seed))
    found = kinked_rows(equations, gradient, candidates, FITS)
    if found is not None and found.confirmed.all() and found.hidden.misfit <= FITS:
        far = np.abs(found.hidden.rows[:, None] - pictures.reshape(len(pictures), -1)[None]).max(axis=2)
        assert sorted(far.argmin(axis=1)) == list(range(len(pictures)))
        assert far.min(axis=1).max() < 1e-3
