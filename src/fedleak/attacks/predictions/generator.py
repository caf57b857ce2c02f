"""The generative regression network (Luo et al. 2021, algorithm 2), with the parts that table III takes away.

The error is propagated back through the served model as a torch function; torch is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.models.model import Model
from fedleak.models.score_models import LinearModel, Link, NetworkModel


@dataclass(frozen=True)
class GeneratorOptions:
    """The authors' settings; the four switches are those of the ablation study."""

    hidden: tuple[int, ...] = (600, 200, 100)
    epochs: int = 60
    batch_rows: int = 64
    learning_rate: float = 1e-4
    variance_weight: float = 0.25
    patience: int = 15  # epochs without a better loss on the view before it stops
    own_input: bool = True
    noise_input: bool = True
    constraint: bool = True
    generator: bool = True
    direct_learning_rate: float = 1e-2  # where there is no generator and the values themselves are descended


LEAST_START, START_SCALE = 0.02, 0.3  # a start at a wall has no slope; near a start the first outputs spread little
N_NOISE_DRAWS = 16  # from which it is told how much an answer hangs on its noise


@dataclass(frozen=True, eq=False)
class Generated:
    values: FloatArray  # (rows, unknowns)
    noise_variance: float  # of a value over draws of the noise: what the mean of many draws would save
    loss: float  # of the epoch that was kept: seen in the view, no truth in it
    epochs: int


@dataclass(frozen=True, eq=False)
class Observed:
    """What the network is trained on: own columns, answers, and where columns stand among the model's inputs."""

    own: FloatArray
    wanted: FloatArray  # (rows, answers) of the model: its confidences, or what they stand for
    own_positions: IntArray
    unknown_positions: IntArray
    weights: FloatArray | None = None  # (rows, answers): of the squared errors; all alike by default
    start: FloatArray | None = None  # (unknowns,): about where values begin; at the box's centre by default


class GenerativeRegression:
    def __init__(self, torch: Any, model: TorchFunction, observed: Observed, options: GeneratorOptions) -> None:
        self._torch, self._model, self._options = torch, model, options
        self._own = torch.tensor(observed.own, dtype=torch.float32)
        self._scaled_own = torch.tensor(_on_unit_interval(observed.own), dtype=torch.float32)
        self._wanted = torch.tensor(observed.wanted, dtype=torch.float32)
        weights = np.ones_like(observed.wanted) if observed.weights is None else observed.weights
        self._weights = torch.tensor(weights, dtype=torch.float32)
        self._width = len(observed.unknown_positions)
        order = np.concatenate([observed.own_positions, observed.unknown_positions])
        self._order = torch.tensor(np.argsort(order), dtype=torch.long)
        # Without own columns noise takes their place, so that the generator keeps its size (as in the authors' code).
        self._noise_width = self._width + (0 if options.own_input else self._own.shape[1])
        self._generator = self._make()
        if observed.start is not None and options.generator:
            self._begin_at(observed.start)

    def _begin_at(self, start: FloatArray) -> None:
        inside = np.clip(start, LEAST_START, 1.0 - LEAST_START)
        last = self._generator[-2]  # the sigmoid comes after it
        with self._torch.no_grad():
            last.bias.copy_(self._torch.tensor(np.log(inside / (1.0 - inside)), dtype=self._torch.float32))
            last.weight.mul_(START_SCALE)

    def train(self) -> Generated:
        """Descend, and keep the epoch of least loss on what the attacker sees."""
        torch, options = self._torch, self._options
        rate = options.learning_rate if options.generator else options.direct_learning_rate
        optimiser = torch.optim.Adam(self._generator.parameters(), lr=rate)
        best, kept, best_epoch, n_epochs = float("inf"), self._state(), 0, 0
        while n_epochs < options.epochs and n_epochs - best_epoch < options.patience:
            n_epochs += 1
            loss = self._one_epoch(optimiser)
            if loss < best:
                best, kept, best_epoch = loss, self._state(), n_epochs
        self._generator.load_state_dict(kept)
        with torch.no_grad():
            values = self._generate(torch.arange(len(self._own)))
            noise_variance = self._noise_variance()
        return Generated(values.double().numpy(), noise_variance, best / max(len(self._own), 1), n_epochs)

    def _noise_variance(self) -> float:
        if not (self._options.noise_input and self._options.generator):
            return 0.0
        rows = self._torch.arange(len(self._own))
        drawn = self._torch.stack([self._generate(rows) for _ in range(N_NOISE_DRAWS)])
        return float(drawn.var(dim=0).mean())

    def _one_epoch(self, optimiser: Any) -> float:
        order = self._torch.randperm(len(self._own))
        total = 0.0
        for start in range(0, len(order), self._options.batch_rows):
            batch = order[start : start + self._options.batch_rows]
            optimiser.zero_grad()
            loss = self._loss(batch)
            loss.backward()
            optimiser.step()
            total += float(loss.detach())
        return total

    def _loss(self, batch: Any) -> Any:
        made = self._generate(batch)
        rows = self._torch.cat([self._own[batch], made], dim=1)[:, self._order]
        error = (self._weights[batch] * (self._model(rows) - self._wanted[batch]) ** 2).sum()
        if self._options.constraint and len(batch) > 1:  # Omega of eq. 9: values must not spread too far
            error = error + self._options.variance_weight * made.var(dim=0).sum()
        return error

    def _generate(self, batch: Any) -> Any:
        torch, options = self._torch, self._options
        if not options.generator:
            return self._generator.values[batch]
        parts = [self._scaled_own[batch]] if options.own_input else []
        parts += [torch.randn(len(batch), self._noise_width)] if options.noise_input else []
        return self._generator(torch.cat(parts, dim=1))

    def _make(self) -> Any:
        """Layer normalisation before each ReLU, a sigmoid at the end: values lie in the unit box."""
        nn, options = self._torch.nn, self._options
        if not options.generator:
            holder = nn.Module()
            holder.values = nn.Parameter(self._torch.randn(len(self._own), self._width))
            return holder
        width_in = self._own.shape[1] if options.own_input else 0
        width_in += self._noise_width if options.noise_input else 0
        layers: list[Any] = []
        for inputs, outputs in pairwise((width_in, *options.hidden)):
            layers += [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.ReLU()]
        last = options.hidden[-1] if options.hidden else width_in
        return nn.Sequential(*layers, nn.Linear(last, self._width), nn.Sigmoid())

    def _state(self) -> dict[str, Any]:
        return {name: tensor.detach().clone() for name, tensor in self._generator.state_dict().items()}


def _on_unit_interval(own: FloatArray) -> FloatArray:
    """Own columns as the generator sees them, whatever their units."""
    span = np.ptp(own, axis=0)
    return np.asarray((own - own.min(axis=0)) / np.where(span > 0, span, 1.0))


TorchFunction = Callable[[Any], Any]


def differentiable(torch: Any, model: Model) -> TorchFunction:
    """Confidences of whole rows. The attacker sees confidences, so they are what the paper's attack matches."""
    scores, link = _torch_scores(torch, model), _link_of(model)

    def confidences(rows: Any) -> Any:
        of_rows = scores(rows)
        if link is Link.SIGMOID:
            return torch.cat([torch.sigmoid(-of_rows), torch.sigmoid(of_rows)], dim=1)
        return torch.sigmoid(of_rows) if link is Link.SIGMOID_EACH else torch.softmax(of_rows, dim=1)

    return confidences


def differentiable_ratios(torch: Any, model: Model) -> TorchFunction:
    """What log-ratios of the confidences stand for: a confidence next to 0 or 1 has no slope, its logarithm has."""
    scores, link = _torch_scores(torch, model), _link_of(model)

    def ratios(rows: Any) -> Any:
        of_rows = scores(rows)
        return of_rows[:, :-1] - of_rows[:, 1:] if link is Link.SOFTMAX else of_rows

    return ratios


def _link_of(model: Model) -> Link:
    if not isinstance(model, LinearModel | NetworkModel):
        raise MissingFromViewError(f"no gradient passes through {type(model).__name__}; it needs a surrogate")
    return model.link


def _torch_scores(torch: Any, model: Model) -> TorchFunction:
    _link_of(model)
    layers = list(zip(model.weights, model.biases, strict=True)) if isinstance(model, NetworkModel) else []
    if isinstance(model, LinearModel):
        layers = [(model.weights, model.bias)]
    tensors = [(torch.tensor(w, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)) for w, b in layers]

    def scores(rows: Any) -> Any:
        hidden = rows
        for weight, bias in tensors[:-1]:
            hidden = torch.relu(hidden @ weight.T + bias)
        return hidden @ tensors[-1][0].T + tensors[-1][1]

    return scores
