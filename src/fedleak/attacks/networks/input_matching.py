"""What goes into a network, from what comes out of its first layers (Jin et al. 2021, step III, with its h alone).

Inputs move until the layers make the wanted outputs of them. Of pictures the total variation counts at first and fades
to nothing: with it most starts end at the picture, without it in one of many others that fit nearly as well. Whether
one ended there shows in what is left of the misfit: failures are known and tried again, with smoother starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, Value
from fedleak.models.joint_training import load_torch
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import forward, tensors_of

N_STEPS = 1000
FADING = 3.0  # power of what is left of the steps, by which the total variation loses its weight
FITS = 3e-4  # misfit as a share of the outputs: pictures that are found end below, others above
EXACT = 1e-5  # where all misfits are below, there is nothing left to do
LOOKS_EVERY = 50
RISING = 0.3  # share of the steps
FIRST_SHARE, LAST_SHARE = 0.04, 4e-6  # of the largest step, at the beginning and at the end
DECAY = 0.999
MOST_AT_ONCE = 64  # rows
GREY = 0.5
N_PROBES, N_PROBE_STEPS = 4, 100
OUTSIDE = 0.25  # misfit of a probe, where pixels are not from 0 to 1


@dataclass(frozen=True)
class Attempt:
    """At rows that do not fit yet. ``rate`` is the top of one cycle of step sizes."""

    smooth: float  # weight of the total variation at first
    rate: float
    onwards: bool = False  # from where the row is, not from grey


# Chosen on other pictures and networks than the reported ones.
ATTEMPTS = (
    Attempt(3e-2, 0.2),
    Attempt(3e-3, 0.05, onwards=True),
    Attempt(1e-1, 0.2),
    Attempt(3e-3, 0.05, onwards=True),
)
WITHOUT_NEIGHBOURS = (Attempt(0.0, 0.1), Attempt(0.0, 0.02, onwards=True))


@dataclass(frozen=True, eq=False)
class Matched(Value):
    values: FloatArray  # (rows, *input shape), as the network takes them
    misfits: FloatArray  # of each row's outputs, as a share of them

    @property
    def fits(self) -> BoolArray:
        return np.asarray(self.misfits < FITS)


def matched_inputs(
    network: LayeredNetwork,
    stop: int,
    wanted: FloatArray,
    *,
    n_steps: int = N_STEPS,
    done: Callable[[Matched], None] = lambda _: None,
) -> Matched:
    """Inputs of which the layers before ``stop`` make the ``wanted`` outputs; ``done`` hears of every part."""
    values = np.full((len(wanted), *network.input_shape), GREY)
    misfits = np.full(len(wanted), np.inf)
    boxed = _pictures(network) and _in_box(network, stop, wanted)
    for attempt in ATTEMPTS if _pictures(network) else WITHOUT_NEIGHBOURS:
        for chosen in _chunks(np.flatnonzero(~(misfits < FITS))):
            start = values[chosen] if attempt.onwards else np.full_like(values[chosen], GREY)
            found, left = _descend(network, stop, wanted[chosen], start, attempt, n_steps, boxed=boxed)
            better = left < misfits[chosen]
            values[chosen[better]], misfits[chosen[better]] = found[better], left[better]
            done(Matched(values, misfits))
    return Matched(values, misfits)


def _in_box(network: LayeredNetwork, stop: int, wanted: FloatArray) -> bool:
    """Whether pixels from 0 to 1 make such outputs: a few steps on a few rows tell. Scaled otherwise, they do not."""
    few = wanted[:N_PROBES]
    start = np.full((len(few), *network.input_shape), GREY)
    _, left = _descend(network, stop, few, start, ATTEMPTS[0], N_PROBE_STEPS, boxed=True)
    return bool(np.median(left) < OUTSIDE)


def _pictures(network: LayeredNetwork) -> bool:
    return len(network.input_shape) > 1


def _chunks(places: AnyArray) -> list[AnyArray]:
    return [places[begin : begin + MOST_AT_ONCE] for begin in range(0, len(places), MOST_AT_ONCE)]


def _descend(
    network: LayeredNetwork,
    stop: int,
    wanted: FloatArray,
    start: FloatArray,
    attempt: Attempt,
    n_steps: int,
    *,
    boxed: bool,
) -> tuple[FloatArray, FloatArray]:
    """Adam over one cycle of step sizes, all rows at once: no row's steps depend on another's."""
    torch = load_torch("matching inputs")
    parameters = tensors_of(network.parameters, dtype="float32")
    target = torch.tensor(np.asarray(wanted, dtype=np.float32))
    size = (target**2).mean(dim=1).clamp_min(1e-30)
    inputs = torch.tensor(start.astype(np.float32), requires_grad=True)
    steps = OneCycle(inputs, attempt.rate, n_steps)
    for step in range(n_steps):
        loss = _misfit(network, parameters, inputs, stop, target, size)
        if step % LOOKS_EVERY == 0 and float(loss.detach().max()) < EXACT**2:
            break
        if attempt.smooth:
            loss = loss + attempt.smooth * (1 - step / n_steps) ** FADING * total_variation(inputs)
        (slope,) = torch.autograd.grad(loss.sum(), [inputs])
        with torch.no_grad():
            steps.move(slope)
            if boxed:
                inputs.clamp_(0.0, 1.0)
    with torch.no_grad():
        left = _misfit(network, parameters, inputs, stop, target, size).sqrt()
    return inputs.detach().numpy().astype(np.float64), left.numpy().astype(np.float64)


class OneCycle:
    """Adam (Kingma and Ba 2015) whose step rises over the first 30 % and falls to nothing, its momentum the other way
    (Smith and Topin 2018). By hand: torch's own writes files where no attack may."""

    def __init__(self, values: Any, rate: float, n_steps: int) -> None:
        self._values, self._rate, self._n_steps, self._step = values, rate, n_steps, 0
        self._mean = values.detach().clone().zero_()
        self._square = values.detach().clone().zero_()

    def move(self, slope: Any) -> None:
        share, self._step = self._step / max(1, self._n_steps - 1), self._step + 1
        turn = share / RISING if share < RISING else 1 - (share - RISING) / (1 - RISING)
        height = (1 - cos(pi * turn)) / 2
        momentum = 0.95 - 0.1 * height
        start = FIRST_SHARE if share < RISING else LAST_SHARE
        self._mean.mul_(momentum).add_(slope, alpha=1 - momentum)
        self._square.mul_(DECAY).addcmul_(slope, slope, value=1 - DECAY)
        scale = (self._square / (1 - DECAY**self._step)).sqrt_().add_(1e-8)
        rate = self._rate * (start + (1 - start) * height) / (1 - momentum**self._step)
        self._values.addcdiv_(self._mean, scale, value=-rate)


def _misfit(network: LayeredNetwork, parameters: Any, inputs: Any, stop: int, target: Any, size: Any) -> Any:
    made = forward(network, parameters, inputs, stop=stop, training=False).flatten(1)
    return ((made - target) ** 2).mean(dim=1) / size


def total_variation(pictures: Any) -> Any:
    """Mean absolute difference of neighbours, of each picture."""
    down = (pictures[:, :, 1:] - pictures[:, :, :-1]).abs().mean(dim=(1, 2, 3))
    across = (pictures[:, :, :, 1:] - pictures[:, :, :, :-1]).abs().mean(dim=(1, 2, 3))
    return down + across
