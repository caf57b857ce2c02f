"""Table 2's rivals on its own gradients: those of one picture and of one batch of 40, in the CPU time that ours takes.

Ours has all batches of the run, and its time is that of steps I and II over all of them and of step III for the rows
of the first. A rival has the first batch's gradients of all workers and of the top, which is all that its paper asks
for; where a search ends before the time does, another begins. A batch has no order for those who match gradients: their
pictures are paired with the true ones as they fit best, ours as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from fedleak.attacks.networks.cut_dummy_batch import CutDummyBatch, CutGradients, first_gradients
from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.dummy_batch import FEW, Dummies, MatchedBatch, Objective, matched_batch
from fedleak.attacks.networks.gradient_distances import cosine, kernel, squared
from fedleak.attacks.networks.input_matching import matched_inputs
from fedleak.attacks.networks.separated_rows import separate
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.metrics.picture_metrics import decibels
from fedleak.papers.experiment import Experiment, Figures, Row
from fedleak.papers.jin2021.cafe_run import GREY, SERVER, PictureCase, picture_federation, played
from fedleak.papers.jin2021.printed import CIFAR, MNIST, TABLE_2
from fedleak.trial.play import Played
from fedleak.trial.progress import Progress

SEED = 0
OURS = "solved"
LONGER_SECONDS = 10.0  # for the single picture: whether a rival works at all
QUICK_SECONDS = 1.0
SMOOTH = 1e-2
TOGETHER, STARTS = 1e-2, 2


@dataclass(frozen=True)
class Rival:
    objective: Objective
    reads_labels: bool = True


# Weights were chosen on single held-out pictures, through networks of other seeds; L-BFGS finds its steps itself.
RIVALS: Mapping[str, Rival] = {
    "DLG": Rival(Objective(squared), reads_labels=False),
    "iDLG": Rival(Objective(squared, SMOOTH)),
    "cosine similarity": Rival(Objective(cosine, SMOOTH)),
    "SAPAG": Rival(Objective(kernel, SMOOTH)),
    "GC regulariser": Rival(Objective(cosine, SMOOTH, together=TOGETHER, starts=STARTS)),
}
NO_BATCH_NORM = "the networks of this table have no batch norm, so that there are no statistics to keep to"


@dataclass(frozen=True, eq=False)
class Attacked:
    """Of the rows of the first batch: pictures as (rows, workers, channels, height, width)."""

    seen: CutGradients
    true: FloatArray
    ours: FloatArray
    cpu_seconds: float


def attacked(case: PictureCase, seed: int) -> Attacked:
    """A run, and ours on the rows of its first batch."""
    with played(picture_federation(case, seed), seed) as run:
        began = time.process_time()
        ours = np.stack([_solved(run, case, name) for name in case.workers], axis=1)
        spent = time.process_time() - began
        seen = first_gradients(run.view((SERVER,), _secret(case.workers[0])))
        true = np.stack([_true(run, name) for name in case.workers], axis=1)
    return Attacked(seen, true, ours, spent)


def _secret(owner: str) -> Secret:
    return Secret(SecretKind.IMAGES, owner)


def _solved(run: Played, case: PictureCase, owner: str) -> FloatArray:
    """Of one worker: steps I and II over all rows, step III for those of the first batch."""
    seen = CutView(run.view((SERVER,), _secret(owner)))
    found = separate(seen)
    rows = np.searchsorted(found.batches.ids, seen.drawn[0])
    cells = np.full((len(rows), *seen.network.input_shape), GREY)
    told = found.determined[rows]
    wanted = found.hidden.values[rows[told]]
    cells[told] = matched_inputs(seen.network, seen.network.first_linear or 0, wanted, n_steps=case.n_steps).values
    return cells


def _true(run: Played, owner: str) -> FloatArray:
    truth, seen = run.run.truth.of(_secret(owner)), CutView(run.view((SERVER,), _secret(owner)))
    rows = np.searchsorted(truth.ids, seen.drawn[0])
    return np.asarray(np.moveaxis(np.asarray(truth.values)[rows], -1, 1), np.float64)


def rival_search(seen: CutGradients, rival: Rival, seconds: float, seed: int) -> tuple[MatchedBatch, float]:
    """What it finds, and the CPU time that it took."""
    labels = seen.labels if rival.reads_labels else None
    batch, rng = CutDummyBatch(seen, rival.objective, labels), np.random.default_rng([seed, seen.n_rows])
    return matched_within(batch, seconds, rng)


def matched_within(batch: Dummies, seconds: float, rng: np.random.Generator) -> tuple[MatchedBatch, float]:
    """How long an evaluation takes says how many there may be; restarts while there is time for a search."""
    began = time.process_time()
    batch.cost_and_slope(batch.tensor(batch.start(rng)))
    spent, evaluations, best = time.process_time() - began, 1, None
    while best is None or (left := int((seconds - spent) * evaluations / spent)) >= FEW:
        n_evaluations = max(FEW, int(seconds / spent)) if best is None else left
        found = matched_batch(batch, n_evaluations, rng)
        evaluations += found.evaluations
        best = found if best is None or found.distance < best.distance else best
        spent = time.process_time() - began
    return MatchedBatch(best.inputs, best.distance, evaluations), spent


def paired_error(found: FloatArray, true: FloatArray) -> float:
    """Mean square over all pixels, cut to [0, 1], in the order that fits best."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    cut, whole = np.clip(found, 0, 1).reshape(len(found), -1), true.reshape(len(true), -1)
    costs = cdist(cut, whole, "sqeuclidean")
    return float(costs[linear_sum_assignment(costs)].sum() / whole.size)


def _rival_figures(problem: Attacked, rival: Rival, seconds: float, longer: float | None) -> Figures:
    found, spent = rival_search(problem.seen, rival, seconds, SEED)
    figures: dict[str, float | None] = {
        "psnr": float(decibels(paired_error(found.inputs, problem.true))),
        "distance": found.distance,
        "evaluations": float(found.evaluations),
        "cpu_seconds": spent,
    }
    if longer is not None:
        further, spent = rival_search(problem.seen, rival, longer, SEED)
        error = paired_error(further.inputs, problem.true)
        figures |= {"psnr_longer": float(decibels(error)), "cpu_seconds_longer": spent}
    return figures


def measured_sides(case: PictureCase, *, quick: bool) -> dict[str, Figures]:
    """Ours and every rival; ``cpu_seconds`` is what each took."""
    problem = attacked(case, SEED)
    grey = float(decibels(paired_error(np.full_like(problem.true, GREY), problem.true)))
    seconds = min(QUICK_SECONDS, problem.cpu_seconds) if quick else problem.cpu_seconds
    longer = LONGER_SECONDS if case.batch_size == 1 and not quick else None
    psnr = float(decibels(paired_error(problem.ours, problem.true)))
    sides: dict[str, Figures] = {OURS: {"psnr": psnr, "cpu_seconds": problem.cpu_seconds, "grey": grey}}
    for name, rival in RIVALS.items():
        sides[name] = {**_rival_figures(problem, rival, seconds, longer), "grey": grey}
    return sides


class Rivals(Experiment):
    name = "jin2021/rivals"
    summary = "table 2's rivals on its own gradients, of one picture and of a batch of 40, in the CPU time of ours"
    reference = Reference("jin2021", "table 2, its rivals")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (SEED,)

    def cases(self, *, quick: bool) -> list[PictureCase]:
        if quick:
            return [PictureCase(MNIST, 10, 1, n_steps=100), PictureCase(MNIST, 12, 3, n_steps=100)]
        return [PictureCase(data, *sizes) for sizes in ((20, 1), (800, 40)) for data in (CIFAR, MNIST)]

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases = self.cases(quick=quick)
        progress.begin(self.name, len(cases))
        for case in cases:
            key = {"rivals": asdict(case), "seed": SEED, "quick": quick}
            for method, figures in self.kept.measured(key, partial(measured_sides, case, quick=quick)).items():
                yield _row(case, method, figures)
            progress.advance()
        for dataset in (CIFAR, MNIST):
            paper = {"psnr": TABLE_2["BN regulariser"][dataset]}
            setting = {"dataset": dataset, "method": "BN regulariser"}
            yield Row(setting, {"psnr": None}, paper, note=NO_BATCH_NORM)


def _row(case: PictureCase, method: str, figures: Figures) -> Row:
    setting: dict[str, ScalarValue] = {"dataset": case.dataset, "method": method, "batch_size": case.batch_size}
    printed = TABLE_2.get("CAFE" if method == OURS else method)
    at_size = printed is not None and case.batch_size == 40
    paper = {"psnr": printed[case.dataset]} if at_size and printed is not None else None
    measured = {name: value for name, value in figures.items() if name != "grey"}
    return Row({**setting, "rows": case.n_rows}, measured, paper, baseline={"psnr": figures["grey"]})
