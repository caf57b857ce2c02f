"""A dummy batch whose gradient is brought near the one that was seen: the search that all who match gradients share.

Unknowns are the batch's inputs and, where labels are not known, a score for each class. They stand in one vector, which
L-BFGS moves, in float64. Where a start ends early, another one begins; what is kept has the smallest distance of
gradients, and nothing else decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.gradient_distances import Distance, apart, statistics_off
from fedleak.attacks.networks.input_matching import total_variation
from fedleak.core.arrays import FloatArray, IntArray, Value
from fedleak.models.joint_training import load_torch
from fedleak.models.layered_torch import gradients, tensors_of

FEW = 20  # evaluations: fewer are no search
ENDED = 1e-13  # a distance that no other start needs to better
CORRECTIONS = 20  # pairs that L-BFGS remembers
SUFFICIENT = 1e-4  # of the fall that the slope promises
HALVINGS = 25
LOOKED_BACK, HARDLY = 20, 0.99  # steps, and what they leave of the cost where a start has ended


@dataclass(frozen=True)
class Objective:
    """Weights beside the distance of gradients; ``starts`` are moved together where ``together`` pulls at them."""

    distance: Distance
    smooth: float = 0.0  # of the total variation of pictures
    statistics: float = 0.0  # of statistics into batch norms
    together: float = 0.0
    starts: int = 1


@dataclass(frozen=True, eq=False)
class MatchedBatch(Value):
    inputs: FloatArray  # (K, *input shape), as the network takes them
    distance: float
    evaluations: int


class Dummies(ABC):
    """``labels`` are classes in any order, or None: then they are unknowns. ``seen`` are tensors; what dummies make of
    themselves is of the same form."""

    def __init__(
        self,
        seen: Sequence[Any],
        objective: Objective,
        row: tuple[int, ...],
        n_classes: int,
        n_rows: int,
        labels: IntArray | None,
    ) -> None:
        self._torch = load_torch("matching gradients")
        self._seen, self._objective = seen, objective
        self._labels = None if labels is None else self._torch.tensor(labels)
        self._shape = (objective.starts, n_rows, *row)
        self._scores = (objective.starts, n_rows, n_classes)
        self._n_inputs = int(np.prod(self._shape))
        self.ended = ENDED + objective.smooth  # what the weights beside the distance leave of it

    @abstractmethod
    def _made(self, inputs: Any, labels: Any) -> list[Any]:
        """The gradients of a batch."""

    @abstractmethod
    def _beside(self, inputs: Any) -> Any:
        """What counts beside the distance, of all starts."""

    def start(self, rng: np.random.Generator) -> FloatArray:
        n_scores = 0 if self._labels is not None else int(np.prod(self._scores))
        return np.concatenate([rng.random(self._n_inputs), 0.1 * rng.standard_normal(n_scores)])

    def tensor(self, vector: FloatArray) -> Any:
        return self._torch.tensor(vector, dtype=self._seen[0].dtype, requires_grad=True)

    def cost_and_slope(self, vector: Any) -> tuple[float, Any]:
        cost = self._cost(vector)
        (slope,) = self._torch.autograd.grad(cost, [vector])
        return float(cost.detach()), slope

    def best(self, vector: Any, evaluations: int) -> MatchedBatch:
        """Of the starts that were moved together, the nearest."""
        distances = [float(self._distance(vector, number).detach()) for number in range(self._objective.starts)]
        nearest = int(np.argmin(distances))
        inputs = self._inputs(vector)[nearest].detach().numpy()
        return MatchedBatch(inputs, distances[nearest], evaluations)

    def _inputs(self, vector: Any) -> Any:
        return vector[: self._n_inputs].reshape(self._shape)

    def _distance(self, vector: Any, number: int) -> Any:
        labels = self._labels
        if labels is None:
            labels = vector[self._n_inputs :].reshape(self._scores)[number].softmax(dim=1)
        mine = self._made(self._inputs(vector)[number], labels)
        return self._objective.distance(mine, self._seen)

    def _cost(self, vector: Any) -> Any:
        objective, inputs = self._objective, self._inputs(vector)
        cost = sum(self._distance(vector, number) for number in range(objective.starts))
        cost = cost + self._beside(inputs)
        return cost + objective.together * apart(inputs) if objective.together else cost


class DummyBatch(Dummies):
    """Of one client's network."""

    def __init__(self, seen: ClientGradient, objective: Objective, n_rows: int, labels: IntArray | None) -> None:
        network = seen.network
        values = {name: seen.values[name] for name in network.parameter_order}
        sent = list(tensors_of(values, dtype="float64").values())
        super().__init__(sent, objective, network.input_shape, network.n_classes, n_rows, labels)
        self._network, self._parameters = network, tensors_of(network.parameters, dtype="float64", wanted=True)
        self._pictures = len(network.input_shape) == 3

    def _made(self, inputs: Any, labels: Any) -> list[Any]:
        return list(gradients(self._network, self._parameters, inputs, labels, differentiable=True).values())

    def _beside(self, inputs: Any) -> Any:
        objective, cost = self._objective, 0.0
        if objective.smooth and self._pictures:
            cost = cost + objective.smooth * total_variation(inputs.flatten(0, 1)).mean()
        if objective.statistics:
            off = [statistics_off(self._network, self._parameters, one) for one in inputs]
            cost = cost + objective.statistics * sum(off)
        return cost


def matched_batch(batch: Dummies, n_evaluations: int, rng: np.random.Generator) -> MatchedBatch:
    """L-BFGS, from one start after the other until the evaluations are spent."""
    best, left = None, n_evaluations
    while best is None or (left >= FEW and best.distance > batch.ended):
        vector, spent = _descended(batch, batch.tensor(batch.start(rng)), left)
        left -= spent
        best = _nearer(best, batch.best(vector, spent))
    return replace(best, evaluations=n_evaluations - left)


def _descended(batch: Dummies, at: Any, n_evaluations: int) -> tuple[Any, int]:
    """Until steps hardly lower the cost. By hand: scipy's takes ten times as long as the gradients."""
    history: deque[tuple[Any, Any]] = deque(maxlen=CORRECTIONS)
    cost, slope = batch.cost_and_slope(at)
    spent, length, costs = 1, 1.0 / (float(slope.norm()) + 1e-30), [cost]
    while spent < n_evaluations and cost > 0 and not _settled(costs):
        way = _direction(slope, history)
        falls = float(way @ slope)
        for _ in range(min(HALVINGS, n_evaluations - spent)):
            tried = (at.detach() + length * way).requires_grad_()
            after, new_slope = batch.cost_and_slope(tried)
            spent += 1
            if after <= cost + SUFFICIENT * length * falls:
                break
            length *= 0.5
        else:
            return at, spent
        moved, turned = (tried - at).detach(), new_slope - slope
        if float(moved @ turned) > 0:
            history.append((moved, turned))
        at, cost, slope, length = tried, after, new_slope, 1.0
        costs.append(cost)
    return at, spent


def _settled(costs: Sequence[float]) -> bool:
    return len(costs) > LOOKED_BACK and costs[-1] > HARDLY * costs[-1 - LOOKED_BACK]


def _direction(slope: Any, history: Sequence[tuple[Any, Any]]) -> Any:
    """Downhill, bent by the curvature of the last steps (two-loop recursion, Nocedal 1980)."""
    way, shares = -slope, []
    for moved, turned in reversed(history):
        share = (moved @ way) / (moved @ turned)
        way = way - share * turned
        shares.append(share)
    if history:
        moved, turned = history[-1]
        way = way * ((moved @ turned) / (turned @ turned))
    for (moved, turned), share in zip(history, reversed(shares), strict=True):
        way = way + (share - (turned @ way) / (moved @ turned)) * moved
    return way


def _nearer(best: MatchedBatch | None, found: MatchedBatch) -> MatchedBatch:
    return found if best is None or found.distance < best.distance else best
