"""Pixels of a batch, from what went into the first fully connected layer and the gradients of the convolutions.

With h_k and d_k known, what flows back into the convolutions is known, and every convolution's gradient is linear in
its inputs. All equations together are solved for the pixels by Gauss-Newton; a step is conjugate gradients on the
normal equations (CGLS), through derivatives of the network, in float64, from grey. The inputs h_k weigh by what
rounding did to them in each direction of the batch; a floor that falls from step to step keeps the steps well
conditioned. A budget counts pictures x iterations. Coordinates are a natural picture's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.attacks.networks.hidden_rows import HiddenRows
from fedleak.attacks.networks.picture_prior import PicturePrior
from fedleak.core.arrays import FloatArray, Value
from fedleak.models.joint_training import load_torch
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import forward, tensors_of

GREY = 0.5
WORK = 16_000  # pictures x iterations
MOST_ITERATIONS = 8_000
STEPS = (0.15, 0.25, 0.3, 0.3)  # shares of the work: Gauss-Newton's steps
POWER = 1.0  # of the frequency in the prior: natural pictures; others take more iterations
FLOORS = (1.0, 0.1, 0.03, 0.01)
INPUT_FLOOR, GRADIENT_FLOOR = 0.03, 1e-3  # of the first residual of h, and of a gradient's size
ENOUGH = 1e-12  # of the first slope of a step, squared
CARRIED = 2.0  # roundings in a convolution's gradient


@dataclass(frozen=True, eq=False)
class FoundPixels(Value):
    """``inputs`` as the network takes them. ``residual``: of the convolutions' gradients, relative to them."""

    inputs: FloatArray
    residual: float
    power: float
    iterations: int
    n_equations: int


@dataclass(frozen=True, eq=False)
class _Known(Value):
    """What the equations are about, as tensors."""

    network: LayeredNetwork
    stop: int
    parameters: dict[str, Any]
    wanted: tuple[str, ...]  # parameters before the first fully connected layer
    back: Any  # (K, inputs): the error of each h_k
    rows: Any
    gradients: tuple[Any, ...]
    sizes: FloatArray  # of the batch's directions, in roundings of the gradient
    directions: FloatArray
    epsilon: float


def pixels_of(
    network: LayeredNetwork,
    gradient: dict[str, FloatArray],
    hidden: HiddenRows,
    noise: FloatArray,
    epsilon: float,
    *,
    work: int = WORK,
) -> FoundPixels:
    """``noise`` of each output of the first fully connected layer, as its factors have it."""
    known = _known(network, gradient, hidden, noise, epsilon)
    total = min(work // len(hidden.rows), MOST_ITERATIONS)
    search = _Search(known, POWER)
    for floor, share in zip(FLOORS, STEPS, strict=True):
        search.stepped(floor, int(share * total))
    n_equations = known.rows.numel() + sum(one.numel() for one in known.gradients)
    found = search.inputs().detach().numpy()
    return FoundPixels(found, search.relative_residual(), search.prior.power, search.iterations, n_equations)


def _known(
    network: LayeredNetwork, gradient: dict[str, FloatArray], hidden: HiddenRows, noise: FloatArray, epsilon: float
) -> _Known:
    torch, stop = load_torch("networks"), network.first_linear
    assert stop is not None
    wanted = tuple(name for name in network.parameter_order if int(name.partition(".")[0]) < stop)
    weight = np.asarray(network.parameters[f"{stop}.weight"], np.float64)
    scaled = (hidden.errors / len(hidden.errors) / noise).T
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
    return _Known(
        network,
        stop,
        tensors_of(network.parameters, dtype="float64", wanted=True),
        wanted,
        torch.tensor(hidden.errors @ weight),
        torch.tensor(hidden.rows),
        tuple(torch.tensor(gradient[name]) for name in wanted),
        sizes,
        directions,
        epsilon,
    )


class _Search:
    """One prior's way to the pixels."""

    def __init__(self, known: _Known, power: float) -> None:
        self._torch = load_torch("networks")
        self._known, self.iterations = known, 0
        channels, height, width = known.network.input_shape
        self.prior = PicturePrior((channels, height, width), power)
        self._at = self._torch.zeros((len(known.rows), channels, height, width), dtype=self._torch.float64)
        with self._torch.no_grad():
            first = forward(known.network, known.parameters, self.inputs(), stop=known.stop)
        self._first = float((first - known.rows).pow(2).mean().sqrt()) + 1e-300

    def inputs(self) -> Any:
        return self.prior.pictures(self._at) + GREY

    def misfit(self, floor: float) -> float:
        return float(self._residual(self.inputs().requires_grad_(), floor).detach().pow(2).sum())

    def cost(self, floor: float) -> float:
        """The residual, and how unlikely the pictures are to the prior."""
        return self.misfit(floor) + float(self._at.pow(2).sum())

    def relative_residual(self) -> float:
        _, made = self._made(self.inputs().requires_grad_())
        off = sum(float((a - b).detach().pow(2).sum()) for a, b in zip(made, self._known.gradients, strict=True))
        return float(np.sqrt(off / sum(float(one.pow(2).sum()) for one in self._known.gradients)))

    def _made(self, inputs: Any) -> tuple[Any, Any]:
        known = self._known
        rows = forward(known.network, known.parameters, inputs, stop=known.stop)
        wanted = [known.parameters[name] for name in known.wanted]
        return rows, self._torch.autograd.grad((known.back * rows).sum() / len(rows), wanted, create_graph=True)

    def _residual(self, inputs: Any, floor: float) -> Any:
        known = self._known
        rows, made = self._made(inputs)
        sizes = 1 / np.hypot(1 / known.sizes, floor * INPUT_FLOOR * self._first)
        weights = self._torch.tensor(sizes[:, None] * known.directions)
        parts = [(weights @ (rows - known.rows)).flatten()]
        for mine, seen in zip(made, known.gradients, strict=True):
            size = float(seen.pow(2).mean().sqrt()) + 1e-300
            parts.append((mine - seen).flatten() / (size * np.hypot(CARRIED * known.epsilon, floor * GRADIENT_FLOOR)))
        return self._torch.cat(parts)

    def stepped(self, floor: float, iterations: int) -> _Search:
        """One step of Gauss-Newton, shortened until the residual falls."""
        grad, inputs = self._torch.autograd.grad, self.inputs().detach().requires_grad_()
        residual = self._residual(inputs, floor)
        probe = self._torch.zeros_like(residual, requires_grad=True)
        (turned,) = grad(residual, inputs, probe, create_graph=True)
        step = self._conjugate(
            lambda way: grad(turned, probe, self.prior.pictures(way), retain_graph=True)[0],
            lambda left: self.prior.adjoint(grad(residual, inputs, left, retain_graph=True)[0]),
            -residual.detach(),
            iterations,
        )
        before, start = float(residual.detach().pow(2).sum() + self._at.pow(2).sum()), self._at
        for half in range(10):
            self._at = start + step * 0.5**half
            if self.cost(floor) < before:
                return self
        self._at = start
        return self

    def _conjugate(self, along: Callable[[Any], Any], back: Callable[[Any], Any], right: Any, iterations: int) -> Any:
        """CGLS on [J; 1] step = [right; -at]: coordinates stay near zero where nothing speaks."""
        step = self._torch.zeros_like(self._at)
        left, slope = right, back(right) - self._at
        way, size = slope, float(slope.pow(2).sum())
        enough = ENOUGH * size
        for _ in range(iterations):
            if size <= enough:
                break
            moved = along(way)
            length = size / float(moved.pow(2).sum() + way.pow(2).sum())
            step, left = step + length * way, left - length * moved
            slope = back(left) - self._at - step
            size, last = float(slope.pow(2).sum()), size
            way, self.iterations = slope + size / last * way, self.iterations + 1
        return step
