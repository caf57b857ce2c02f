"""A feed-forward network by Adam, with torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import MissingExtraError
from fedleak.models.from_torch import from_torch
from fedleak.models.network import NetworkModel

BATCH_ROWS = 64


def train_network(
    rows: FloatArray,
    labels: AnyArray,
    columns: Sequence[str],
    n_classes: int,
    *,
    hidden: Sequence[int],
    epochs: int,
    learning_rate: float,
    dropout: float,
    rng: np.random.Generator,
) -> NetworkModel:
    """Cross-entropy on mini-batches; dropout after each hidden layer while training."""
    torch = load_torch("training a network")
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        widths = (len(columns), *hidden)
        layers: list[Any] = []
        for inputs, outputs in pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
            layers += [torch.nn.Dropout(dropout)] if dropout > 0 else []
        net = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], n_classes))
        optimiser = torch.optim.Adam(net.parameters(), lr=learning_rate)
        inputs_all = torch.tensor(rows, dtype=torch.float32)
        labels_all = torch.tensor(np.asarray(labels), dtype=torch.long)
        for _ in range(epochs):
            order = torch.randperm(len(inputs_all))
            for start in range(0, len(order), BATCH_ROWS):
                batch = order[start : start + BATCH_ROWS]
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(net(inputs_all[batch]), labels_all[batch]).backward()
                optimiser.step()
    model = from_torch(net, columns)
    assert isinstance(model, NetworkModel)
    return model


def load_torch(purpose: str) -> Any:
    """The torch module, imported when it is needed and not before."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError.of("torch", "torch", purpose) from error
    return torch
