"""Step III as printed (Jin et al. 2021, eq. 9): fake pictures of all workers, and labels, moved by Adam a batch a step.

Three terms: gradients of all layers, the total variation where it is above a threshold, and what goes into each
worker's first fully connected layer. Constants are those of the code beside the paper. Labels are rows of weights that
go through a softmax, as in Zhu et al. 2019; which the code takes is not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.attacks.networks.cut_view import CutView
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.models.joint_training import load_torch
from fedleak.models.layered_torch import forward, tensors_of, vertical_gradients

RATE = 1e-2
MOMENTUM, DECAY = 0.9, 0.999


@dataclass(frozen=True)
class Terms:
    """Weights of eq. 9; ``threshold`` is of a picture's summed absolute differences of neighbours."""

    alpha: float = 1e-2  # gradients
    beta: float = 1e-4  # total variation
    gamma: float = 1e-3  # inputs of the first fully connected layer
    threshold: float = 25.0


class FakeData:
    """Of all rows. ``evidence``: what is left of the last batch's gradients, as a share of them."""

    def __init__(self, seen: Mapping[str, CutView], top: Any, n_rows: int, rng: np.random.Generator) -> None:
        self._torch = load_torch("networks")
        self._networks = {name: one.network for name, one in seen.items()}
        self._top = top
        self._parameters = {
            name: tensors_of(one.parameters, dtype="float32", wanted=True) for name, one in self._networks.items()
        }
        self._top_parameters = tensors_of(top.parameters, dtype="float32", wanted=True)
        shapes = {name: one.input_shape for name, one in self._networks.items()}
        self._fakes = {name: self._drawn((n_rows, *shape), rng) for name, shape in shapes.items()}
        self._labels = self._drawn((n_rows, top.output_shape[0]), rng)
        self._steps = {name: _RowAdam(one) for name, one in self._fakes.items()}
        self._label_steps = _RowAdam(self._labels)
        self.evidence: dict[str, float] = {}

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._torch.tensor(rng.uniform(0, 1, shape).astype(np.float32))

    def inputs(self, name: str) -> FloatArray:
        return np.asarray(self._fakes[name].numpy(), dtype=np.float64)

    def step(
        self,
        rows: IntArray,
        gradients: Mapping[str, Mapping[str, AnyArray]],
        hidden: Mapping[str, AnyArray],
        terms: Terms,
    ) -> None:
        """``gradients`` of the workers over these rows; ``hidden`` goes into their first fully connected layers."""
        fakes = {name: one[rows].requires_grad_() for name, one in self._fakes.items()}
        labels = self._labels[rows].requires_grad_()
        loss = self._torch.zeros(())
        if terms.alpha:
            loss = loss + terms.alpha * self._gradient_term(fakes, labels, gradients)
        for name, fake in fakes.items():
            loss = loss + terms.beta * _truncated(fake, terms.threshold) if terms.beta else loss
            loss = loss + terms.gamma * self._input_term(name, fake, hidden[name][rows]) if terms.gamma else loss
        wanted = [*fakes.values(), *([labels] if terms.alpha else [])]
        slopes = self._torch.autograd.grad(loss, wanted)
        for name, slope in zip(fakes, slopes, strict=False):
            self._steps[name].move(rows, slope)
        if terms.alpha:
            self._label_steps.move(rows, slopes[-1])

    def _gradient_term(self, fakes: Mapping[str, Any], labels: Any, sent: Mapping[str, Mapping[str, AnyArray]]) -> Any:
        made, _ = vertical_gradients(
            self._networks,
            self._top,
            self._parameters,
            self._top_parameters,
            fakes,
            labels.softmax(dim=1),
            differentiable=True,
        )
        squares, size = self._torch.zeros(()), 0.0
        for name, of_worker in sent.items():
            for parameter, gradient in of_worker.items():
                wanted = self._torch.tensor(np.asarray(gradient, dtype=np.float32))
                squares = squares + ((made[name][parameter] - wanted) ** 2).sum()
                size += float((wanted**2).sum())
        self.evidence["misfit of gradients"] = float(np.sqrt(float(squares.detach()) / max(size, 1e-300)))
        return squares

    def _input_term(self, name: str, fake: Any, wanted: AnyArray) -> Any:
        network = self._networks[name]
        made = forward(network, self._parameters[name], fake, stop=network.first_linear).flatten(1)
        return ((made - self._torch.tensor(np.asarray(wanted, dtype=np.float32))) ** 2).sum()


def _truncated(pictures: Any, threshold: float) -> Any:
    """Total variation of the pictures where it is above the threshold."""
    down = (pictures[..., 1:, :] - pictures[..., :-1, :]).abs().flatten(1).sum(dim=1)
    across = (pictures[..., 1:] - pictures[..., :-1]).abs().flatten(1).sum(dim=1)
    whole = down + across
    return (whole * (whole >= threshold)).sum()


class _RowAdam:
    """Adam (Kingma and Ba 2015) on those rows that a batch holds; every row counts its own steps."""

    def __init__(self, values: Any) -> None:
        torch = load_torch("networks")
        self._values, self._mean, self._square = values, torch.zeros_like(values), torch.zeros_like(values)
        self._n_steps = torch.zeros((len(values), *(1 for _ in values.shape[1:])))

    def move(self, rows: IntArray, slope: Any) -> None:
        self._n_steps[rows] += 1
        self._mean[rows] = MOMENTUM * self._mean[rows] + (1 - MOMENTUM) * slope
        self._square[rows] = DECAY * self._square[rows] + (1 - DECAY) * slope**2
        mean = self._mean[rows] / (1 - MOMENTUM ** self._n_steps[rows])
        square = self._square[rows] / (1 - DECAY ** self._n_steps[rows])
        self._values[rows] -= RATE * mean / (square.sqrt() + 1e-8)
