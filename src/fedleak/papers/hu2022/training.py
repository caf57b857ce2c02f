"""Algorithm 3 of Hu et al. 2022 in plain floating point: the same descent as the protocol's, without its messages.

For experiments of many epochs on all rows. A test holds it against the protocol, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.papers.hu2022.data import Rows
from fedleak.protocols.vertical.batches import batches
from fedleak.protocols.vertical.initialisation import initial_weights
from fedleak.theory.hu2022.dp_paillier import NoiseLevels


@dataclass(frozen=True, eq=False)
class Round:
    """``seen`` is what a passive party opens by packed products: f with the active party's noise on it."""

    number: int
    batch: IntArray
    true: FloatArray  # f = theta x - 2y
    seen: FloatArray
    weights_before: FloatArray
    weights_after: FloatArray


def train(
    rows: Rows,
    *,
    initialisation: str,
    noise: NoiseLevels | None,
    batch_size: int,
    learning_rate: float,
    epochs: int,
    rng: np.random.Generator,
) -> Iterator[Round]:
    order_rng, weight_rng, noise_rng = rng.spawn(3)
    n_columns = rows.train.shape[1]
    half = n_columns // 2
    signs = 2.0 * rows.train_labels - 1.0
    weights = initial_weights(initialisation, n_columns, n_columns, weight_rng)
    for number, batch in enumerate(batches(len(rows.train), batch_size, epochs, True, order_rng)):
        block = rows.train[batch]
        true = block @ weights - 2.0 * signs[batch]
        of_active, of_passive = _noise(noise, len(batch), noise_rng)
        # Each party's own share is exact, its partner's noised (lines 5 and 8; eq. 45).
        gradient = np.concatenate([block[:, :half].T @ (true + of_passive), block[:, half:].T @ (true + of_active)]) / (
            4 * len(batch)
        )
        after = weights - learning_rate * gradient
        yield Round(number, batch, true, true + of_active, weights, after)
        weights = after


def _noise(levels: NoiseLevels | None, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    drawn = rng.standard_normal((2, count))
    return (drawn[0] * 0.0, drawn[1] * 0.0) if levels is None else (drawn[0] * levels.active, drawn[1] * levels.passive)


def accuracy(weights: FloatArray, rows: FloatArray, labels: IntArray) -> float:
    return float(np.mean((rows @ weights > 0) == (labels > 0)))
