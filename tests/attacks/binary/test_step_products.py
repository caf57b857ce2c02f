"""The sum of all batches' inner products from one product of local steps."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.step_products import Product, first_estimate, sum_of_grams


def product_of(x: np.ndarray, n: int, rate: float) -> Product:
    batches = np.split(x, n)
    matrix = np.eye(x.shape[1])
    for batch in batches:
        matrix = (np.eye(x.shape[1]) - rate / 4 * batch.T @ batch) @ matrix
    return Product(matrix, rate / 4, n, len(x))


def draw(m: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (m, d)).astype(float)


@pytest.mark.parametrize(("d", "n", "b", "rate"), [(8, 3, 6, 0.02), (10, 2, 8, 0.03), (12, 4, 5, 0.02)])
def test_rounding_is_exact_at_a_moderate_rate(d, n, b, rate):
    x = draw(n * b, d)
    total = sum_of_grams(product_of(x, n, rate), np.random.default_rng(0))
    assert total is not None
    assert np.array_equal(np.rint(total.total), x.T @ x)


def test_the_fit_is_closer_than_the_first_estimate():
    x = draw(32, 10)
    product = product_of(x, 4, 0.03)
    first, fitted = first_estimate(product), sum_of_grams(product, np.random.default_rng(0))
    assert first is not None
    assert fitted is not None
    assert np.abs(fitted.total - x.T @ x).max() < 0.7 * np.abs(first - x.T @ x).max()


def test_one_batch_needs_no_fit():
    x = draw(6, 5)
    total = sum_of_grams(product_of(x, 1, 0.1), np.random.default_rng(0))
    assert total is not None
    assert np.allclose(total.total, x.T @ x, atol=1e-9)


def test_wide_tables_get_the_mean_correction_only():
    x = draw(20, 40)
    total = sum_of_grams(product_of(x, 2, 0.002), np.random.default_rng(0))
    assert total is not None
    assert np.array_equal(np.rint(total.total), x.T @ x)


def test_a_step_that_overshoots_has_no_logarithm():
    assert sum_of_grams(product_of(draw(20, 10), 2, 1.5), np.random.default_rng(0)) is None
