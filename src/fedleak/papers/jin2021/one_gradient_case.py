"""One gradient of a sigmoid network over a few pictures or rows, in float32, and what is solved for from it.

The network has two convolutions (16 and 32 channels, kernel 5, stride 2) and 256 outputs, or for a table 64 outputs.
Batches are of test pictures; models are trained, if at all, on training pictures. What is not told counts as grey.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.pixels_of_hidden import WORK, pixels_of
from fedleak.attacks.networks.solved_batch import SolvedBatch, solved_batch
from fedleak.core.arrays import FloatArray, IntArray, Value
from fedleak.data import DataSpec, load_table
from fedleak.data.images import PartName, load_images
from fedleak.metrics.picture_metrics import decibels
from fedleak.models.initial_parameters import initial_network
from fedleak.models.joint_training import load_torch
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import arrays_of, gradients, outputs_of, tensors_of
from fedleak.models.layers import layer_of_line
from fedleak.models.parameter_steps import ParameterSteps
from fedleak.papers.experiment import Figures
from fedleak.papers.jin2021.printed import CIFAR, MNIST

SOURCES = {CIFAR: "cifar10_subset", MNIST: "mnist"}
TABLE = "breast cancer"
CONVOLVED = (
    *("convolution 16 5 stride=2 padding=2", "activation sigmoid"),
    *("convolution 32 5 stride=2 padding=2", "activation sigmoid"),
    *("flatten", "linear 256", "activation sigmoid", "linear 10"),
)
CONNECTED = ("linear 64", "activation sigmoid", "linear 2")
TRAINING_BATCH, TRAINING_RATE = 32, 1e-3
SINGLE = 2.0**-24
GREY = 0.5


@dataclass(frozen=True)
class GradientCase:
    dataset: str
    n_rows: int
    n_trained: int = 0  # steps of Adam before the gradient is taken


@dataclass(frozen=True, eq=False)
class Problem(Value):
    seen: ClientGradient
    inputs: FloatArray  # the truth, as the network takes it
    labels: IntArray


@dataclass(frozen=True, eq=False)
class Solved(Value):
    """``inputs`` are grey where nothing was found."""

    batch: SolvedBatch
    inputs: FloatArray
    cpu_seconds: float


def problem_of(
    case: GradientCase, seed: int, *, lines: Sequence[str] | None = None, part: PartName = "test"
) -> Problem:
    """``lines``: the network's layers, in place of the usual ones; a table has no parts."""
    torch, rng = load_torch("one gradient"), np.random.default_rng([seed, case.n_rows, case.n_trained])
    inputs, labels = table_or_pictures(case.dataset, part)
    lines = lines or (CONNECTED if case.dataset == TABLE else CONVOLVED)
    network = initial_network(inputs.shape[1:], [layer_of_line(line) for line in lines], "torch", rng)
    network = _trained(network, case, rng)
    held = rng.choice(len(inputs), case.n_rows, replace=False)
    parameters = tensors_of(network.parameters, wanted=True)
    made = gradients(network, parameters, torch.tensor(inputs[held]), torch.tensor(labels[held]))
    values = {name: np.asarray(one, np.float64) for name, one in arrays_of(made).items()}
    seen = ClientGradient(0, network, values, SINGLE, None, case.n_rows)
    return Problem(seen, inputs[held].astype(np.float64), labels[held])


def table_or_pictures(dataset: str, part: PartName) -> tuple[FloatArray, IntArray]:
    """Rows as the network takes them, in float32."""
    if dataset == TABLE:
        table = load_table(DataSpec(source="sklearn:breast_cancer", task="binary", positive=0))
        values = np.asarray(table.values, np.float64)
        scaled = (values - values.min(axis=0)) / np.ptp(values, axis=0)
        return scaled.astype(np.float32), np.asarray(table.labels).astype(np.int64)
    images = load_images(SOURCES[dataset], part=part)
    pixels = (images.pixels / images.peak).astype(np.float32)
    shaped = pixels[..., None] if pixels.ndim == 3 else pixels
    return np.ascontiguousarray(np.moveaxis(shaped, -1, 1)), np.asarray(images.labels).astype(np.int64)


def _trained(network: LayeredNetwork, case: GradientCase, rng: np.random.Generator) -> LayeredNetwork:
    if not case.n_trained:
        return network
    torch, (inputs, labels) = load_torch("one gradient"), table_or_pictures(case.dataset, "train")
    steps = ParameterSteps("adam", TRAINING_RATE)
    for _ in range(case.n_trained):
        held = rng.choice(len(inputs), TRAINING_BATCH, replace=False)
        parameters = tensors_of(network.parameters, wanted=True)
        slope = gradients(network, parameters, torch.tensor(inputs[held]), torch.tensor(labels[held]))
        network = network.with_parameters(steps.step(network.parameters, arrays_of(slope)))
    return network


def solve(problem: Problem, seed: int, *, work: int = WORK) -> Solved:
    """Rows into the first fully connected layer, then pixels where there are convolutions: our side."""
    began, seen = time.process_time(), problem.seen
    batch = solved_batch(seen, np.random.default_rng([seed, 1]))
    inputs = np.full(problem.inputs.shape, GREY)
    if batch.hidden is not None and batch.factors is not None:
        if seen.network.first_linear == 0:
            inputs = batch.hidden.rows
        else:
            inputs = pixels_of(
                seen.network, seen.values, batch.hidden, batch.factors.noise, seen.epsilon, work=work
            ).inputs
    return Solved(batch, inputs, time.process_time() - began)


def squared_error(problem: Problem, found: FloatArray) -> float:
    """Mean over all cells, cut to [0, 1], in the order that fits best: a batch has none."""
    return float(errors_of_rows(problem, found).mean())


def errors_of_rows(problem: Problem, found: FloatArray) -> FloatArray:
    """Squared, of each row that was found."""
    cut, true = np.clip(found, 0, 1).reshape(len(found), -1), problem.inputs.reshape(len(found), -1)
    mine, theirs = _best_pairs(cut, true)
    return np.asarray(((cut[mine] - true[theirs]) ** 2).mean(axis=1))


def hidden_error(problem: Problem, batch: SolvedBatch) -> float | None:
    """The largest error of any number into the first fully connected layer."""
    found = _paired(problem, batch)
    return None if found is None else float(np.abs(found[0] - found[1]).max())


def share_of_rows_within(problem: Problem, batch: SolvedBatch, limit: float) -> float:
    """Rows whose numbers into the first fully connected layer are all within it; 0 where none is told."""
    found = _paired(problem, batch)
    return 0.0 if found is None else float((np.abs(found[0] - found[1]).max(axis=1) <= limit).mean())


def hidden_relative_error(problem: Problem, batch: SolvedBatch) -> float | None:
    """Of the row that is worst: the length of its error over its own."""
    found = _paired(problem, batch)
    if found is None:
        return None
    return float((np.linalg.norm(found[0] - found[1], axis=1) / np.linalg.norm(found[1], axis=1)).max())


def _paired(problem: Problem, batch: SolvedBatch) -> tuple[FloatArray, FloatArray] | None:
    """Rows found and true ones, in the order that fits best."""
    if batch.hidden is None:
        return None
    network, rows = problem.seen.network, batch.hidden.rows
    true = outputs_of(network, problem.inputs, stop=network.first_linear).reshape(len(rows), -1)
    mine, theirs = _best_pairs(rows, true)
    return rows[mine], np.asarray(true[theirs], np.float64)


def _best_pairs(rows: FloatArray, true: FloatArray) -> tuple[IntArray, IntArray]:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    mine, theirs = linear_sum_assignment(cdist(rows, true, "sqeuclidean"))
    return mine, theirs


def figures_of(case: GradientCase, seed: int, work: int) -> Figures:
    problem = problem_of(case, seed)
    found = solve(problem, seed, work=work)
    counts = found.batch.counts
    true_counts = np.bincount(problem.labels, minlength=problem.seen.network.n_classes)
    return {
        "psnr": float(decibels(squared_error(problem, found.inputs))),
        "h_error": hidden_error(problem, found.batch),
        "h_relative_error": hidden_relative_error(problem, found.batch),
        "label_counts_exact": float(counts is not None and bool((counts.counts == true_counts).all())),
        "solved": float(found.batch.fits),
        "cpu_seconds": found.cpu_seconds,
        "grey": float(decibels(squared_error(problem, np.full(problem.inputs.shape, GREY)))),
    }
