"""The logistic regression that the authors' code attacks with the generative network: one sigmoid a class.

It has a bias, and c classes give c equations on the inputs, not c - 1. It is trained by Adam on the cross-entropy of
the softmax of the sigmoids, which keeps both sigmoids away from certainty longer than a plain regression would be.
"""

from __future__ import annotations

import numpy as np

from fedleak.models.linear import LinearModel, Link
from fedleak.models.training.network import load_torch
from fedleak.papers.luo2021.tables import PaperTable
from fedleak.papers.luo2021.trial import Rows

EPOCHS = 60
BATCH_ROWS = 64
LEARNING_RATE = 1e-3


def one_sigmoid_a_class(
    table: PaperTable, rows: Rows, rng: np.random.Generator, *, epochs: int = EPOCHS
) -> LinearModel:
    torch = load_torch("the authors' logistic regression")
    inputs = torch.tensor(table.features[rows.train], dtype=torch.float32)
    labels = torch.tensor(table.labels[rows.train])
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        layer = torch.nn.Linear(inputs.shape[1], table.n_classes)
        optimiser = torch.optim.Adam(layer.parameters(), lr=LEARNING_RATE)
        for _ in range(epochs):
            for batch in torch.randperm(len(inputs)).split(BATCH_ROWS):
                optimiser.zero_grad()
                confidences = torch.sigmoid(layer(inputs[batch]))
                torch.nn.functional.cross_entropy(confidences, labels[batch]).backward()
                optimiser.step()
    weights, bias = (parameter.detach().double().numpy() for parameter in (layer.weight, layer.bias))
    return LinearModel(table.columns, weights, bias, Link.SIGMOID_EACH)
