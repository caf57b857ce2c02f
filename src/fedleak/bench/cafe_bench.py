"""CAFE's first two steps, solved, against the paper's descent, on the same gradients in one run.

The network is that of the code beside the paper, its pictures scikit-learn's digits, enlarged to 32 x 32. A batch's
gradient of the first fully connected layer is one product of what goes in and what comes back, in float32, as torch
makes it: made anew whenever it is asked for, and not timed. Descent gets 8,000 batches, the solution the first 160.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from fedleak.attacks.networks.batch_indicators import Batches
from fedleak.attacks.networks.cafe_descent import descended_gradients, descended_inputs
from fedleak.attacks.networks.layer_gradients import LayerGradient
from fedleak.attacks.networks.separated_rows import Separated, by_spans
from fedleak.core.arrays import AnyArray, BoolArray, FloatArray
from fedleak.core.errors import RunError
from fedleak.models.initial_parameters import initial_network
from fedleak.models.joint_training import load_torch
from fedleak.models.layered_torch import batch_loss, forward, tensors_of
from fedleak.models.layers import layer_of_line
from fedleak.protocols.networks.network_settings import FOR_PICTURES
from fedleak.trial.provenance import environment

SEED = 5
N_PARTS = 4
CLOSE = 1e-5
LAST = ("linear 10", "activation relu")


@dataclass(frozen=True)
class Sizes:
    n_rows: int
    batch_size: int
    n_solved: int  # batches that the solution gets
    n_descended: int


FULL = Sizes(800, 40, 160, 8000)
QUICK = Sizes(200, 10, 160, 800)


@dataclass
class Layer:
    """What goes into a worker's first fully connected layer and what comes back, row by row; and its gradients."""

    inputs: FloatArray
    returned: FloatArray
    batches: Batches
    making: float = field(default=0.0)  # CPU seconds that went into making gradients

    def stream(self, n_batches: int) -> Iterator[LayerGradient]:
        for number in range(n_batches):
            began = time.process_time()
            held = self.batches.rows(number % len(self.batches.counts))
            size = np.float32(len(held))
            back, inputs = (self.returned[held] / size).astype(np.float32), self.inputs[held].astype(np.float32)
            made = LayerGradient(
                (back.T @ inputs).astype(np.float64) * float(size), back.sum(axis=0).astype(np.float64) * float(size)
            )
            self.making += time.process_time() - began
            yield made

    def errors(self, found: Separated) -> FloatArray:
        lengths = np.maximum(np.linalg.norm(self.inputs, axis=1), 1e-300)
        return np.asarray(np.linalg.norm(np.nan_to_num(found.hidden.values) - self.inputs, axis=1) / lengths)


def measure(quick: bool = False) -> Mapping[str, object]:
    """Ratios are descent over solution: above 1, the solution is nearer, or sooner done."""
    sizes = QUICK if quick else FULL
    layer = _first_layer(sizes)
    alive = np.abs(layer.returned).max(axis=1) > 0
    theirs, their_seconds = _descended(layer, sizes)
    found, seconds = _solved(layer, sizes)
    ours = (np.nan_to_num(found.found.values), np.nan_to_num(found.hidden.values))
    their_errors = [_share_off(one, true, alive) for one, true in zip(theirs, _true(layer), strict=True)]
    our_errors = [_share_off(one, true, alive) for one, true in zip(ours, _true(layer), strict=True)]
    return {
        "bench": "cafe",
        "step1_error_ratio": their_errors[0] / our_errors[0],
        "step2_error_ratio": their_errors[1] / our_errors[1],
        "time_ratio": their_seconds / seconds,
        "sides": {
            "descent": _figures(their_errors, their_seconds, sizes.n_descended),
            "solution": {**_figures(our_errors, seconds, sizes.n_solved), **_by_row(layer, found, alive)},
        },
        "environment": environment(
            quick=quick,
            rows=sizes.n_rows,
            batch_size=sizes.batch_size,
            inputs=layer.inputs.shape[1],
            outputs=layer.returned.shape[1],
            data="sklearn:digits, enlarged to 32 x 32; one of four quarters",
            clock="CPU time of one process; making the gradients is not counted",
        ),
    }


def _true(layer: Layer) -> tuple[FloatArray, FloatArray]:
    return layer.returned, layer.inputs


def _share_off(found: FloatArray, true: FloatArray, alive: BoolArray) -> float:
    """Over all rows that have a gradient; what is not told counts as zero."""
    return float(np.linalg.norm((found - true)[alive]) / np.linalg.norm(true[alive]))


def _figures(errors: list[float], seconds: float, n_batches: int) -> dict[str, float]:
    return {"step1_error": errors[0], "step2_error": errors[1], "cpu_seconds": seconds, "batches": float(n_batches)}


def _by_row(layer: Layer, found: Separated, alive: BoolArray) -> dict[str, float]:
    close = layer.errors(found) <= CLOSE
    flagged = ~found.determined | ~(found.hidden.expected_error <= CLOSE)
    return {
        "rows_with_a_gradient": float(alive.sum()),
        "share_of_them_to_1e-5": float(close[alive].mean()),
        "others_not_flagged": float((~close & ~flagged).sum()),
    }


def _descended(layer: Layer, sizes: Sizes) -> tuple[tuple[FloatArray, FloatArray], float]:
    rng = np.random.default_rng(SEED)
    began, layer.making = time.process_time(), 0.0
    own = descended_gradients(layer.batches, layer.stream(sizes.n_descended), rng)
    inputs = descended_inputs(layer.batches, layer.stream(sizes.n_descended), own, rng)
    return (own, inputs), time.process_time() - began - layer.making


def _solved(layer: Layer, sizes: Sizes) -> tuple[Separated, float]:
    began, layer.making = time.process_time(), 0.0
    batches = Batches(layer.batches.ids, layer.batches.counts[: sizes.n_solved])
    found = by_spans(batches, lambda: layer.stream(sizes.n_solved))
    if found is None:
        raise RunError(f"{sizes.n_solved} batches must overlap enough to be solved; they do not")
    return found, time.process_time() - began - layer.making


def _first_layer(sizes: Sizes) -> Layer:
    """Of the first quarter, with the other three taking part."""
    torch = load_torch("bench cafe")
    pictures, labels = _digits(sizes.n_rows)
    rng = np.random.default_rng(SEED)
    layers = tuple(layer_of_line(line) for line in (*FOR_PICTURES, *LAST))
    inputs, outputs = [], []
    for part in _quarters(pictures):
        network = initial_network((1, 16, 16), layers, "glorot", rng)
        parameters, place = tensors_of(network.parameters), network.first_linear or 0
        with torch.no_grad():
            hidden = torch.cat(
                [forward(network, parameters, some, stop=place) for some in torch.tensor(part).split(100)]
            )
        inputs.append(hidden)
        outgoing = forward(network, parameters, hidden, start=place, stop=place + 1).detach().requires_grad_(True)
        outputs.append((outgoing, forward(network, parameters, outgoing, start=place + 1)))
    top = initial_network((10 * N_PARTS,), (layer_of_line("linear 10"),), "glorot", rng)
    scores = forward(top, tensors_of(top.parameters), torch.cat([made for _, made in outputs], dim=1))
    returned = torch.autograd.grad(batch_loss(scores, torch.tensor(labels)) * len(labels), outputs[0][0])[0]
    batches = _dealt(sizes, rng)
    return Layer(inputs[0].numpy().astype(np.float64), returned.numpy().astype(np.float64), batches)


def _digits(n_rows: int) -> tuple[AnyArray, AnyArray]:
    from sklearn.datasets import load_digits

    found = load_digits()
    pictures = np.kron(found.images[:n_rows] / 16.0, np.ones((1, 4, 4)))
    return pictures.astype(np.float32)[:, None], found.target[:n_rows].astype(np.int64)


def _quarters(pictures: AnyArray) -> list[AnyArray]:
    return [pictures[:, :, top : top + 16, left : left + 16] for top in (0, 16) for left in (0, 16)]


def _dealt(sizes: Sizes, rng: np.random.Generator) -> Batches:
    """Epochs that deal all rows out."""
    per_epoch = sizes.n_rows // sizes.batch_size
    epochs = -(-sizes.n_descended // per_epoch)
    return Batches.of(
        [part for _ in range(epochs) for part in np.array_split(rng.permutation(sizes.n_rows), per_epoch)]
    )
