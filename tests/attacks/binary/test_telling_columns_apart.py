"""Which columns are binary, told from inner products and sums over labels alone (Li et al. 2019, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fedleak.attacks.binary.completed_rows import binary_columns, has_parity
from random_cases import seeds

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
NUMBERS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "cents": lambda rng, shape: np.round(rng.normal(50, 20, shape), 2),
}


def told(seed: int, draw: Draw, *, own_rows_show: bool = False) -> tuple[set[int], set[int]]:
    """The columns taken for binary, and those that are; others are drawn as given."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 30)), int(rng.integers(4, 24))
    others = rng.permutation(d)[: int(rng.integers(1, d))]
    rows = rng.integers(0, 2, (m, d)).astype(float)
    signs = 2 * rng.integers(0, 2, m) - 1
    rows[:, others] = draw(rng, (m, len(others)))
    alpha, beta = rows.T @ rows, rows.T @ signs
    among = has_parity(beta, alpha, 1e-3)
    if own_rows_show:
        among = among & ~np.isin(np.arange(d), others)
    return set(binary_columns(alpha, m, 1e-3, among).tolist()), set(range(d)) - set(others.tolist())


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_with_decimals_are_always_told_from_zeros_and_ones(kind):
    for seed in seeds(60):
        found, wanted = told(seed, NUMBERS[kind])
        assert found == wanted, seed


def test_small_whole_numbers_are_not_and_own_rows_tell_them():
    def genotypes(rng, shape):
        return rng.binomial(2, 0.4, shape).astype(float)

    pairs = [told(seed, genotypes) for seed in range(60)]
    assert sum(found != wanted for found, wanted in pairs) > 20
    for seed in range(60):
        found, wanted = told(seed, genotypes, own_rows_show=True)
        assert found == wanted, seed
