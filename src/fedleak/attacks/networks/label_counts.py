"""How many rows of each class are in a batch, from the gradient of the last bias.

It is the mean of softmax(z_k) - y_k, so counts = K (mean prediction - gradient). The mean prediction is not known, but
of a network that was just drawn it hardly depends on the input: K |mean - guess| < 1/2 in every class is enough, and is
not assumed: whoever uses the counts checks the equations that they imply. Of a single row the gradient is negative at
its label alone (Zhao et al. 2020, iDLG, arXiv 2001.02610), whatever the network predicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.dense_top import softmax
from fedleak.core.arrays import FloatArray, IntArray, Value
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import outputs_of

NEUTRAL = 0.5


@dataclass(frozen=True, eq=False)
class LabelCounts(Value):
    counts: IntArray
    distance: float  # of the estimate from whole numbers, the largest; 1/2 decides nothing

    @property
    def labels(self) -> IntArray:
        """In the order of the classes: a batch has no order of its own."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def counts_of(seen: ClientGradient, n_rows: int) -> LabelCounts | None:
    """None where the last layer has no bias, or where whole numbers do not add up to the batch."""
    last_bias = seen.values.get(f"{len(seen.network.layers) - 1}.bias")
    if last_bias is None:
        return None
    if n_rows == 1:
        counts = (np.arange(len(last_bias)) == np.argmin(last_bias)).astype(np.int64)
        return LabelCounts(counts, 0.0)
    return label_counts(last_bias, neutral_prediction(seen.network), n_rows)


def neutral_prediction(network: LayeredNetwork) -> FloatArray:
    """What a network says of an input that is one half throughout."""
    neutral = np.full((1, *network.input_shape), NEUTRAL)
    return np.asarray(softmax(outputs_of(network, neutral).astype(np.float64))[0])


def label_counts(last_bias: FloatArray, prediction: FloatArray, n_rows: int) -> LabelCounts | None:
    """``prediction``: what the network says of a neutral input. None where whole numbers do not add up to the batch."""
    estimate = n_rows * (prediction - last_bias)
    counts = np.rint(estimate).astype(np.int64)
    if (counts < 0).any() or counts.sum() != n_rows:
        return None
    return LabelCounts(counts, float(np.abs(estimate - counts).max()))
