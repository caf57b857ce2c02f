"""One update of several local steps (FedAvg), solved: by steps, batch size and rate, with sigmoid and with ReLU.

Rows of breast cancer, and test pictures of MNIST as the first layer takes them; networks are just drawn, in float32,
which rounds every step to the spacing of the parameters. Steps go over one batch, or each over another. Constants were
chosen on seeds 0 and 1 and on made-up updates.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from fedleak.attacks.networks.client_updates import ClientUpdate, summed
from fedleak.attacks.networks.solved_update import SolvedUpdate, solved_update
from fedleak.attacks.networks.update_factoring import CAUTION, PRECISE
from fedleak.core.arrays import FloatArray, IntArray, Value
from fedleak.core.attack import Reference
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import layer_of_line
from fedleak.models.local_batch import LocalBatch, loss_gradient
from fedleak.models.parameter_steps import ParameterSteps
from fedleak.papers.experiment import Band, Experiment, Figures, Row
from fedleak.papers.jin2021.one_gradient_case import GREY, TABLE, table_or_pictures
from fedleak.papers.jin2021.printed import MNIST
from fedleak.papers.pieces import Piece, one_value
from fedleak.trial.progress import Progress

SMOOTH, KINKED = "sigmoid", "relu"
WIDTHS = {SMOOTH: {TABLE: (128, 32), MNIST: (256, 64)}, KINKED: {TABLE: (256, 64), MNIST: (256, 64)}}
# Rows of a batch, steps, rate: over one batch, and over rows that differ from step to step.
ONE_BATCH = ((4, 1, 0.1), (4, 2, 0.1), (4, 4, 0.1), (4, 8, 0.1), (4, 4, 0.01), (4, 4, 1.0), (8, 4, 0.1))
APART = ((1, 8, 0.1), (2, 2, 0.1), (2, 4, 0.1), (4, 2, 0.1))
EXACT = 1e-2  # largest error of any cell, of a range of 1
NOTE = "called_recovered: the attack vouches for the update; false_promises: of these, updates with a cell off by more"


@dataclass(frozen=True)
class LocalCase:
    dataset: str
    activation: str
    n_rows: int  # of a batch
    n_steps: int
    rate: float
    one_batch: bool  # in every step; otherwise rows differ from step to step


@dataclass(frozen=True, eq=False)
class LocalProblem(Value):
    seen: ClientUpdate
    rows: FloatArray  # the truth
    labels: IntArray


class LocalStepUpdates(Experiment):
    name = "jin2021/local-steps"
    summary = "rows from one update of several local steps of a fully connected network, by steps, batch and rate"
    reference = Reference("jin2021", "section 3.1, horizontal federated learning; ours")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (20,) if quick else (20, 21)

    def cases(self, *, quick: bool) -> list[LocalCase]:
        if quick:
            return [LocalCase(TABLE, SMOOTH, 2, 2, 0.1, True), LocalCase(TABLE, KINKED, 4, 2, 0.1, True)]
        return [
            LocalCase(data, how, n_rows, n_steps, rate, one_batch)
            for data in (TABLE, MNIST)
            for how in (SMOOTH, KINKED)
            for one_batch, sizes in ((True, ONE_BATCH), (False, APART))
            for n_rows, n_steps, rate in sizes
        ]

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases, seeds = self.cases(quick=quick), self.seeds(quick=quick)
        progress.begin(self.name, len(cases))
        for case in cases:
            yield _row(case, [_piece(case, seed).measure(self.kept) for seed in _seeds(case, seeds)])
            progress.advance()

    def pieces(self, *, quick: bool) -> list[Piece]:
        seeds = self.seeds(quick=quick)
        return [_piece(case, seed) for case in self.cases(quick=quick) for seed in _seeds(case, seeds)]


def _seeds(case: LocalCase, seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Pictures take several times as long: one of them."""
    return seeds[:1] if case.dataset == MNIST else seeds


def _piece(case: LocalCase, seed: int) -> Piece:
    return one_value(["local-steps", *asdict(case).values(), seed], partial(_figures, case, seed))


def local_problem(case: LocalCase, seed: int) -> LocalProblem:
    """What a client sends after its steps, in float32."""
    rng = np.random.default_rng([seed, case.n_rows, case.n_steps])
    inputs, labels = table_or_pictures(case.dataset, "test")
    inputs = inputs.reshape(len(inputs), -1)
    first, second = WIDTHS[case.activation][case.dataset]
    middle = (f"activation {case.activation}", f"linear {second}", f"activation {case.activation}")
    lines = (f"linear {first}", *middle, f"linear {labels.max() + 1}")
    network = initial_network(inputs.shape[1:], [layer_of_line(line) for line in lines], "torch", rng)
    held = rng.choice(len(inputs), case.n_rows * (1 if case.one_batch else case.n_steps), replace=False)
    steps = [held] * case.n_steps if case.one_batch else list(held.reshape(case.n_steps, case.n_rows))
    after = _trained(network, inputs, labels, steps, case.rate)
    update = {name: after.parameters[name] - network.parameters[name] for name in network.parameter_order}
    told = summed(network, update, case.rate, case.n_steps)
    seen = ClientUpdate(0, network, *told, case.rate, case.n_steps, case.n_rows, None)
    return LocalProblem(seen, inputs[held].astype(np.float64), labels[held])


def _trained(
    network: LayeredNetwork, inputs: FloatArray, labels: IntArray, steps: list[IntArray], rate: float
) -> LayeredNetwork:
    descent = ParameterSteps("sgd", rate)
    for held in steps:
        batch = LocalBatch(network, inputs[held])
        _, upstream = loss_gradient(batch.outputs, labels[held])
        network = network.with_parameters(descent.step(network.parameters, batch.back(upstream)))
    return network


def _figures(case: LocalCase, seed: int) -> Figures:
    problem = local_problem(case, seed)
    began = time.process_time()
    solved = solved_update(problem.seen, np.random.default_rng([seed, 1]))
    return update_figures(problem, solved, time.process_time() - began)


def update_figures(problem: LocalProblem, solved: SolvedUpdate, seconds: float) -> Figures:
    """Of one update. Its expected error is beside the largest one where rows came out at all."""
    if solved.found is None or solved.error is None or solved.labels is None:
        return {"called_recovered": 0.0, "came_out": 0.0, "false_promises": 0.0, "cpu_seconds": seconds}
    mine, theirs = _pairs(solved.found.rows, problem.rows)
    error = float(np.abs(solved.found.rows[mine] - problem.rows[theirs]).max())
    labels = bool((solved.labels[mine] == problem.labels[theirs]).all())
    called = not solved.why and bool((CAUTION * solved.error <= PRECISE).all())
    return {
        "called_recovered": float(called),
        "came_out": float(not solved.why),
        "false_promises": float(called and not (labels and error <= EXACT)),
        "cpu_seconds": seconds,
        "largest_error": error if not solved.why else None,
        "expected_error": float(solved.error.max()) if not solved.why else None,
        "misfit": solved.found.misfit if not solved.why else None,
    }


def _pairs(found: FloatArray, true: FloatArray) -> tuple[IntArray, IntArray]:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    mine, theirs = linear_sum_assignment(cdist(found, true, "sqeuclidean"))
    return mine, theirs


def _row(case: LocalCase, found: list[Figures]) -> Row:
    shares = ("called_recovered", "came_out", "false_promises", "cpu_seconds")
    measured: Figures = {name: float(np.mean([one[name] for one in found])) for name in shares}
    for name in ("largest_error", "expected_error", "misfit"):
        told = [value for one in found if (value := one.get(name)) is not None]
        measured = {**measured, name: max(told) if told else None}
    highest = max(one["cpu_seconds"] or 0.0 for one in found)
    return Row(
        {**asdict(case), "n_updates": len(found)},
        {**measured, "cpu_seconds_high": highest},
        baseline={"largest_error": GREY},
        note=NOTE,
        bands={"cpu_seconds": Band.MAX},
    )
