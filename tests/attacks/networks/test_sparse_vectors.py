"""Vectors that are zero at drawn sets of units."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks import sparse_vectors


@pytest.mark.parametrize("seed", range(30))
def test_sets_of_units_that_repeat_each_other_give_vectors_all_the_same(seed: int) -> None:
    """Moved in their last bits alone, sets of five equal units were exactly singular in three of these cases."""
    units = np.random.default_rng(100 + seed).standard_normal((2048, 1, 6))
    units /= np.linalg.norm(units, axis=2, keepdims=True)
    found = sparse_vectors._null_vectors(np.repeat(units, 5, axis=1), np.random.default_rng(seed))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.ones(2048))
    assert np.abs(np.einsum("nk,nk->n", found, units[:, 0])).max() < 1e-4
