"""What is trained does not depend on how a processor rounds."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.models.joint_training import train_logistic


def table(n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that nearly follow from one another: the hardest case for descent by gradients."""
    rng = np.random.default_rng(seed)
    base = rng.random((600, 6))
    rows = np.hstack([base, base @ rng.random((6, 6)) + 1e-3 * rng.random((600, 6))])
    rows /= rows.max(axis=0)
    scores = rows @ rng.standard_normal((12, n_classes)) + 0.3 * rng.standard_normal((600, n_classes))
    labels = scores.argmax(axis=1)
    labels[:n_classes] = np.arange(n_classes)
    return rows, labels


@pytest.mark.parametrize("n_classes", [2, 5, 11])
def test_the_order_of_the_rows_does_not_show_in_the_weights(n_classes):
    """Another order is another rounding of every sum; stopped before the minimum, weights differ by percents."""
    rows, labels = table(n_classes, 1)
    names = [f"c{i}" for i in range(12)]
    found = []
    for order in (np.arange(600), np.random.default_rng(2).permutation(600)):
        model = train_logistic(rows[order], labels[order], names, n_classes, l2=1e-5, with_bias=False)
        found.append(model.weights)
    assert np.abs(found[0] - found[1]).max() < 1e-7 * np.abs(found[0]).max()
