"""The rank of a layer's gradient is the size of the batch, and its factors span the rows."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.layer_factors import factors_of


def product(n_rows: int, dtype: type, shape: tuple[int, int] = (24, 40), seed: int = 0):
    rng = np.random.default_rng(seed)
    errors = (0.1 * rng.standard_normal((shape[0], n_rows))).astype(dtype)
    rows = np.column_stack([rng.standard_normal((n_rows, shape[1])), np.ones(n_rows)]).astype(dtype)
    return (errors @ rows / n_rows).astype(np.float64), rows.astype(np.float64)


@pytest.mark.parametrize(("dtype", "epsilon"), [(np.float32, 2.0**-24), (np.float64, 2.0**-53)])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 12, 20])
def test_the_rank_is_the_batch_and_the_basis_spans_its_rows(n_rows, dtype, epsilon):
    gradient, rows = product(n_rows, dtype)
    found = factors_of(gradient, epsilon)
    assert found is not None
    assert found.n_rows == n_rows
    outside = rows - rows @ found.basis @ found.basis.T
    assert np.abs(outside).max() < 1e5 * epsilon


def test_a_batch_as_large_as_the_layer_has_no_rank_to_read():
    assert factors_of(product(24, np.float64)[0], 2.0**-53) is None


def test_noise_on_the_gradient_leaves_no_rank():
    gradient, _ = product(4, np.float64)
    assert factors_of(gradient + np.random.default_rng(1).standard_normal(gradient.shape), 2.0**-53) is None


def test_the_rank_must_be_the_batch_that_was_told():
    assert factors_of(product(4, np.float64)[0], 2.0**-53, 5) is None
