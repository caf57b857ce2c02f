"""Tables 4 and 5, figures 1 and 5: CAFE's descents as printed, by their terms, their loops and beside what is solved.

All workers' fake pictures move in one descent, and the harness, which has the truth, looks at them in between: where
the paper stops at a true PSNR (table 5), the harness stops, and no attack knows of it. Eighty pictures in batches of
four keep the paper's share of a batch, at a hundredth of its work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from fedleak.attacks.networks.cafe_fake_data import Terms
from fedleak.attacks.networks.cafe_pictures import PictureDescent
from fedleak.attacks.networks.cut_view import CutView
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.metrics.picture_metrics import decibels
from fedleak.papers.experiment import Experiment, Figures, Row
from fedleak.papers.jin2021.cafe_run import SERVER, PictureCase, grey_psnr, picture_federation, picture_figures, played
from fedleak.papers.jin2021.printed import CIFAR, DATASETS, LINNAEUS, MNIST, TABLE_2, TABLE_4, TABLE_5, TABLE_5_PSNR
from fedleak.papers.jin2021.recovered_pictures import NOT_AVAILABLE, NOT_RUN, SEED
from fedleak.trial.play import Played
from fedleak.trial.progress import Progress

SIZES, QUICK_SIZES = (80, 4), (4, 2)  # rows and batch
STEPS, QUICK_STEPS = 4000, 40
SOLVED_STEPS = 100  # of step III, quick
PRINTED = Terms()
VARIANTS: Mapping[str, Terms] = {
    "CAFE": PRINTED,
    "alpha = 0": replace(PRINTED, alpha=0.0),
    "xi = 0": replace(PRINTED, threshold=0.0),
    "beta = 0": replace(PRINTED, beta=0.0),
    "gamma = 0": replace(PRINTED, gamma=0.0),
}
GRADIENTS_ALONE = Terms(alpha=1.0, beta=0.0, gamma=0.0)  # what the paper makes of DLG (section 4.1)
SINGLE, NESTED = ((1, 2, 3),), ((1,), (2,), (3,))
Loops = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Course:
    """A descent to be run: at most so many steps of each loop, or until all pictures together reach a PSNR."""

    terms: Terms
    loops: Loops = SINGLE
    n_steps: int = STEPS
    until: float | None = None


def course_figures(case: PictureCase, course: Course, seed: int) -> Figures:
    """PSNR over all workers' pixels at the end, and the steps that each loop took."""
    with played(picture_federation(case, seed), seed) as run:
        descent = _descent(run, case, course.terms, seed)
        taken = [_run_loop(run, case, descent, parts, course) for parts in course.loops]
        reached = _psnr(run, case, descent)
    found: dict[str, float | None] = {"psnr": reached}
    found |= {f"steps_{number}": float(steps) for number, steps in enumerate(taken, 1)}
    return found | {"reached": None if course.until is None else float(reached >= course.until)}


def _descent(run: Played, case: PictureCase, terms: Terms, seed: int) -> PictureDescent:
    view = run.view((SERVER,), Secret(SecretKind.IMAGES, case.workers[0]))
    target = CutView(view)
    seen = {name: CutView(view, name) for name in target.bottoms.items}
    return PictureDescent(seen, target, np.random.default_rng([seed, 2]), terms)


def _run_loop(run: Played, case: PictureCase, descent: PictureDescent, parts: tuple[int, ...], course: Course) -> int:
    """In passes over all batches; after each that moves pictures, the harness looks."""
    taken, batches = 0, case.n_batches
    while taken < course.n_steps:
        descent.go(parts, min(batches, course.n_steps - taken))
        taken += min(batches, course.n_steps - taken)
        if 3 in parts and course.until is not None and _psnr(run, case, descent) >= course.until:
            break
    return taken


def _psnr(run: Played, case: PictureCase, descent: PictureDescent) -> float:
    errors = []
    for name in case.workers:
        true = np.asarray(run.run.truth.of(Secret(SecretKind.IMAGES, name)).values)
        inputs = np.moveaxis(descent.fake.inputs(name), 1, -1).reshape(true.shape)
        errors.append(float(((np.clip(inputs, 0, 1) - true) ** 2).mean()))
    return float(decibels(float(np.mean(errors))))


class _Loops(Experiment):
    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (SEED,)

    def case(self, dataset: str, *, quick: bool) -> PictureCase:
        n_rows, size = QUICK_SIZES if quick else SIZES
        steps = {"n_steps": SOLVED_STEPS} if quick else {}
        return PictureCase(dataset, n_rows, size, **steps)

    def measured(self, case: PictureCase, course: Course) -> Figures:
        key = {"course": asdict(course), "case": asdict(case), "seed": SEED}
        found: Figures = self.kept.measured(key, partial(course_figures, case, course, SEED))
        return found

    def row(self, setting: Mapping[str, ScalarValue], case: PictureCase, figures: Figures, paper: float | None) -> Row:
        facts = {"rows": case.n_rows, "batch_size": case.batch_size, "batches": case.n_batches}
        printed = None if paper is None else {"psnr": paper}
        return Row({**setting, **facts}, figures, printed, baseline={"psnr": grey_psnr(case)})


class Table4(_Loops):
    name = "jin2021/table4"
    summary = "CAFE as printed without one of its terms"
    reference = Reference("jin2021", "table 4")
    datasets: ClassVar[tuple[str, ...]] = DATASETS

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        steps = QUICK_STEPS if quick else STEPS
        available = [data for data in self.datasets if data != LINNAEUS]
        progress.begin(self.name, len(VARIANTS) * len(available))
        for variant, terms in VARIANTS.items():
            for dataset in self.datasets:
                setting = {"dataset": dataset, "variant": variant}
                printed = TABLE_4[variant][dataset]
                if dataset == LINNAEUS:
                    yield Row(setting, {"psnr": None}, {"psnr": printed}, note=NOT_AVAILABLE)
                    continue
                case = self.case(dataset, quick=quick)
                yield self.row(setting, case, self.measured(case, Course(terms, n_steps=steps)), printed)
                progress.advance()


class Fig5(Table4):
    """The figure shows pictures of one data set, the table has the figures of all."""

    name = "jin2021/fig5"
    summary = "the same on the pictures of the figure"
    reference = Reference("jin2021", "figure 5")
    datasets = (CIFAR,)


class Table5(_Loops):
    name = "jin2021/table5"
    summary = "steps of the single loop and of nested loops until a true PSNR, which the harness sees"
    reference = Reference("jin2021", "table 5")
    from_true_rows = ("both loops are stopped at a PSNR of the true pictures, as in the paper",)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        steps = QUICK_STEPS if quick else STEPS
        progress.begin(self.name, 2 * (len(DATASETS) - 1))
        for dataset in DATASETS:
            if dataset == LINNAEUS:
                for mode, printed in TABLE_5.items():
                    paper = {"iterations": printed[dataset]}
                    yield Row({"dataset": dataset, "mode": mode}, {"iterations": None}, paper, note=NOT_AVAILABLE)
                continue
            case = self.case(dataset, quick=quick)
            for loops in (SINGLE, NESTED):
                course = Course(PRINTED, loops, steps, TABLE_5_PSNR[dataset])
                yield from _by_mode(dataset, case, course, self.measured(case, course))
                progress.advance()


def _by_mode(dataset: str, case: PictureCase, course: Course, figures: Figures) -> Iterator[Row]:
    """A row for each loop; the last one ends where the PSNR is reached, or with all its steps."""
    modes = list(TABLE_5)[:1] if course.loops == SINGLE else list(TABLE_5)[1:]
    for number, mode in enumerate(modes, 1):
        last = number == len(modes)
        facts = {"rows": case.n_rows, "batch_size": case.batch_size, "most_steps": course.n_steps}
        setting: dict[str, ScalarValue] = {"dataset": dataset, "mode": mode, **facts}
        found: dict[str, float | None] = {"iterations": figures[f"steps_{number}"]}
        found |= {"psnr": figures["psnr"], "reached": figures["reached"]} if last else {}
        baseline = {"psnr": grey_psnr(case)} if last else None
        note = f"stopped at {course.until:g} dB" if last and figures["reached"] else "all steps were taken"
        yield Row(setting, found, {"iterations": TABLE_5[mode][dataset]}, baseline, note)


class Fig1(_Loops):
    """On CIFAR-10 and MNIST: the figure's Linnaeus 5 is not available. Of the rivals, DLG has eq. 9 with the gradients
    alone; the others need another distance than the descent has."""

    name = "jin2021/fig1"
    summary = "pictures solved, by CAFE as printed, and by its gradients alone (DLG)"
    reference = Reference("jin2021", "figure 1")

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        steps = QUICK_STEPS if quick else STEPS
        progress.begin(self.name, 3 * (1 if quick else 2))
        courses = {"CAFE": Course(PRINTED, n_steps=steps), "DLG": Course(GRADIENTS_ALONE, n_steps=steps)}
        for dataset in (MNIST,) if quick else (CIFAR, MNIST):
            case = self.case(dataset, quick=quick)
            solved = picture_figures(case, SEED, self.kept)
            yield self.row({"dataset": dataset, "method": "solved"}, case, solved, None)
            progress.advance()
            for method, course in courses.items():
                setting = {"dataset": dataset, "method": method}
                yield self.row(setting, case, self.measured(case, course), TABLE_2[method][dataset])
                progress.advance()
        for method, figures in TABLE_2.items():
            note = NOT_AVAILABLE if method in courses else f"{NOT_AVAILABLE}; {NOT_RUN}"
            yield Row({"dataset": LINNAEUS, "method": method}, {"psnr": None}, {"psnr": figures[LINNAEUS]}, note=note)
