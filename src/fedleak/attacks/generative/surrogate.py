"""A network that imitates a model on dummy samples, so that gradients pass (Luo et al. 2021, section V-B)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedleak.attacks.generative.differentiable import TorchFunction
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.model import Model

HIDDEN = (2000, 200)
SAMPLES_PER_ROW = 10
MIN_SAMPLES = 2000
EPOCHS = 5
BATCH_ROWS = 64
LEARNING_RATE = 1e-3


def surrogate(
    torch: Any, model: Model, own: FloatArray, own_positions: IntArray, rng: np.random.Generator, scale: float = 1.0
) -> TorchFunction:
    """Trained on the model's own outputs for dummy samples; ``scale`` shrinks layers and samples.

    The unknown columns of a dummy are uniform over the box, as in the paper. Its own columns are those of a real row,
    which the attacker has: there the surrogate has to be good.
    """
    width = len(model.columns)
    dummies = rng.random((max(MIN_SAMPLES, int(SAMPLES_PER_ROW * len(own) * scale)), width))
    dummies[:, own_positions] = own[rng.integers(len(own), size=len(dummies))]
    # Own columns may be in any unit; those that lie in the unit interval, as the paper's do, stay as they are.
    low = torch.tensor(np.minimum(dummies.min(axis=0), 0.0), dtype=torch.float32)
    span = torch.tensor(np.maximum(dummies.max(axis=0), 1.0), dtype=torch.float32) - low
    inputs = (torch.tensor(dummies, dtype=torch.float32) - low) / span
    wanted = torch.tensor(model.confidences(dummies), dtype=torch.float32)
    first, second = (max(8, int(size * scale)) for size in HIDDEN)
    net = torch.nn.Sequential(
        torch.nn.Linear(width, first),
        torch.nn.ReLU(),
        torch.nn.Linear(first, second),
        torch.nn.ReLU(),
        torch.nn.Linear(second, model.n_classes),
        torch.nn.Sigmoid(),
    )
    optimiser = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        order = torch.randperm(len(inputs))
        for start in range(0, len(order), BATCH_ROWS):
            batch = order[start : start + BATCH_ROWS]
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(net(inputs[batch]), wanted[batch]).backward()
            optimiser.step()
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    return lambda rows: net((rows - low) / span)
