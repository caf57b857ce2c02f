"""What goes into a network, from what comes out of its first layers (Jin et al. 2021, step III, with its h alone).

Inputs move until the layers make the wanted outputs of them, from a grey whose outputs are as long as those: from a
brighter one a nearly black picture runs past the end into black, where every ReLU is off and nothing moves any more. Of
pictures the total variation counts at first and fades to nothing: with it most starts end near the picture, without it
in one of many others that fit nearly as well. From there quasi-Newton steps go to the end. Whether one ended at the
picture shows in what is left of the misfit: failures are known, and go on from where they are with a little of it
again, or begin anew with steps of another size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, pi
from typing import Any

import numpy as np

from fedleak.attacks.networks.rowwise_descent import descended
from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, Value
from fedleak.models.joint_training import load_torch
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import forward, tensors_of
from fedleak.models.layers import Activation, Pooling

N_STEPS = 200
N_CLOSING = 240  # quasi-Newton steps at most
FADING = 3.0  # power of what is left of the steps, by which the total variation loses its weight
FITS = 3e-4  # misfit as a share of the outputs: pictures that are found end below, others above
EXACT = 1e-6  # misfit, below which there is nothing left to do: outputs have float32's rounding
RISING = 0.3  # share of the steps
FIRST_SHARE, LAST_SHARE = 0.04, 4e-6  # of the largest step, at the beginning and at the end
DECAY = 0.999
MOST_AT_ONCE = 32  # rows: more are no faster
GREY = 0.5
LEVELS = 0.5 ** (np.arange(24) / 2)  # of grey, where a search may begin
N_PROBES, N_PROBE_STEPS = 4, 100
OUTSIDE = 0.25  # misfit of a probe, where pixels are not from 0 to 1


@dataclass(frozen=True)
class Attempt:
    """At rows that do not fit yet. ``rate`` is the top of one cycle of step sizes."""

    smooth: float  # weight of the total variation at first
    rate: float
    onwards: bool = False  # from where the row is, not from grey
    longer: int = 1  # times as many steps


AGAIN = (Attempt(0.01, 0.05, onwards=True), Attempt(0.03, 0.1, onwards=True))
# Chosen on other pictures than the reported ones, through networks of other seeds.
ATTEMPTS = (Attempt(0.1, 0.4), *AGAIN, Attempt(0.1, 0.2), *AGAIN, Attempt(0.1, 0.4, longer=3), *AGAIN)
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
            matching = _Matching(network, stop, wanted[chosen], boxed)
            start = values[chosen] if attempt.onwards else matching.starts()
            found, left = matching.closed(matching.neared(attempt, start, attempt.longer * n_steps))
            better = left < misfits[chosen]
            values[chosen[better]], misfits[chosen[better]] = found[better], left[better]
            done(Matched(values, misfits))
    return Matched(values, misfits)


def _in_box(network: LayeredNetwork, stop: int, wanted: FloatArray) -> bool:
    """Whether pixels from 0 to 1 make such outputs: a few steps on a few rows tell. Scaled otherwise, they do not."""
    matching = _Matching(network, stop, wanted[:N_PROBES], boxed=True)
    return bool(matching.misfits(matching.neared(ATTEMPTS[0], matching.starts(), N_PROBE_STEPS)).median() < OUTSIDE)


def _pictures(network: LayeredNetwork) -> bool:
    return len(network.input_shape) > 1


def _chunks(places: AnyArray) -> list[AnyArray]:
    return [places[begin : begin + MOST_AT_ONCE] for begin in range(0, len(places), MOST_AT_ONCE)]


class _Matching:
    """Of some rows. No row's steps depend on another's."""

    def __init__(self, network: LayeredNetwork, stop: int, wanted: FloatArray, boxed: bool) -> None:
        self._torch = load_torch("matching inputs")
        self._network, self._stop, self._boxed = _pooled_first(network), stop, boxed
        self._parameters = {
            name: self._laid(one) for name, one in tensors_of(network.parameters, dtype="float32").items()
        }
        self._wanted = self._torch.tensor(np.asarray(wanted, dtype=np.float32))
        self._size = (self._wanted**2).mean(dim=1).clamp_min(1e-30)

    def _laid(self, tensor: Any) -> Any:
        """Channels last in memory, as convolutions run fastest."""
        return tensor.contiguous(memory_format=self._torch.channels_last) if tensor.ndim == 4 else tensor

    def starts(self) -> FloatArray:
        """Of pictures the grey whose outputs are as long as the wanted ones; the columns of a table have no common
        level."""
        levels = np.full(len(self._wanted), GREY)
        if _pictures(self._network):
            even = np.ones((len(LEVELS), *self._network.input_shape)) * LEVELS[:, None, None, None]
            lengths = self._made(self._torch.tensor(even.astype(np.float32))).detach().norm(dim=1)
            off = (lengths[None].log() - self._wanted.norm(dim=1)[:, None].log()).nan_to_num(nan=0.0).abs()
            levels = LEVELS[off.argmin(dim=1).numpy()]
        shape = (len(levels), *(1 for _ in self._network.input_shape))
        return np.asarray(levels.reshape(shape) * np.ones((1, *self._network.input_shape)))

    def neared(self, attempt: Attempt, start: FloatArray, n_steps: int) -> Any:
        """Adam over one cycle of step sizes, with a total variation that fades."""
        inputs = self._laid(self._torch.tensor(start.astype(np.float32))).requires_grad_()
        steps = OneCycle(inputs, attempt.rate, n_steps)
        for step in range(n_steps):
            loss = self._squares(inputs)
            if attempt.smooth:
                loss = loss + attempt.smooth * (1 - step / n_steps) ** FADING * total_variation(inputs)
            (slope,) = self._torch.autograd.grad(loss.sum(), [inputs])
            with self._torch.no_grad():
                steps.move(slope)
                if self._boxed:
                    inputs.clamp_(0.0, 1.0)
        return inputs.detach()

    def closed(self, inputs: Any) -> tuple[FloatArray, FloatArray]:
        """From near to the end: inputs and their misfits."""
        found = descended(self._costs, inputs.flatten(1), N_CLOSING, enough=EXACT**2, boxed=self._boxed)
        shaped = found.view(inputs.shape)
        return shaped.numpy().astype(np.float64), self.misfits(shaped).numpy().astype(np.float64)

    def misfits(self, inputs: Any) -> Any:
        with self._torch.no_grad():
            return self._squares(inputs).sqrt()

    def _costs(self, flat: Any, rows: Any) -> tuple[Any, Any]:
        inputs = self._laid(flat.detach().view(-1, *self._network.input_shape)).requires_grad_()
        loss = self._squares(inputs, rows)
        (slope,) = self._torch.autograd.grad(loss.sum(), [inputs])
        return loss.detach(), slope.flatten(1)

    def _squares(self, inputs: Any, rows: Any = slice(None)) -> Any:
        """Squared misfits as shares of the outputs."""
        return ((self._made(inputs) - self._wanted[rows]) ** 2).mean(dim=1) / self._size[rows]

    def _made(self, inputs: Any) -> Any:
        return forward(self._network, self._parameters, inputs, stop=self._stop, training=False).flatten(1)


def _pooled_first(network: LayeredNetwork) -> LayeredNetwork:
    """The same function, sooner computed: a maximum is taken before an activation that keeps the order."""
    layers = list(network.layers)
    for place, (one, other) in enumerate(pairwise(layers)):
        if isinstance(one, Activation) and isinstance(other, Pooling) and other.how == "max":
            layers[place : place + 2] = [other, one]
    return replace(network, layers=tuple(layers))


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


def total_variation(pictures: Any) -> Any:
    """Mean absolute difference of neighbours, of each picture."""
    down = (pictures[:, :, 1:] - pictures[:, :, :-1]).abs().mean(dim=(1, 2, 3))
    across = (pictures[:, :, :, 1:] - pictures[:, :, :, :-1]).abs().mean(dim=(1, 2, 3))
    return down + across
