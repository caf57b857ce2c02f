"""Tables 2, 3, 6 and 7, epochs and the faces: PSNR of recovered pictures, the paper's beside ours.

Steps I and II are solved, step III matches h alone (``picture-separation``); the paper's column CAFE descends on all
three. Rivals have the paper's figures alone here: ``rival_searches`` runs them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.jin2021.cafe_run import EpochCase, PictureCase, grey_psnr, picture_figures, picture_piece
from fedleak.papers.jin2021.printed import CIFAR, DATASETS, FACES, LINNAEUS, MNIST, TABLE_2, TABLE_3, TABLE_6, TABLE_7
from fedleak.papers.pieces import Piece
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.progress import Progress

SEED = 0
NOT_AVAILABLE = "the data set is not available"
NOT_RUN = "the paper's figure alone"
Setting = Mapping[str, ScalarValue]
Planned = tuple[Setting, PictureCase | None, float | None]  # None: not available


class _Pictures(Experiment):
    """A row for each planned case; seed 0 draws parameters, batches and starts."""

    sizes: ClassVar[tuple[int, int]] = (800, 40)  # rows and batch
    quick_sizes: ClassVar[tuple[int, int]] = (12, 3)
    quick_steps: ClassVar[int] = 100

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (SEED,)

    @abstractmethod
    def plan(self, *, quick: bool) -> list[Planned]:
        """Settings, what is run for each, and the paper's figure."""

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        planned = self.plan(quick=quick)
        progress.begin(self.name, len(planned))
        for setting, case, printed in planned:
            yield _row(setting, case, printed, self.kept)
            progress.advance()

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [picture_piece(case, SEED) for _, case, _ in self.plan(quick=quick) if case is not None]

    def case(self, dataset: str, *, quick: bool, **changes: int | float | None) -> PictureCase:
        n_rows, size = self.quick_sizes if quick else self.sizes
        steps = {"n_steps": self.quick_steps} if quick else {}
        return PictureCase(dataset, **{"n_rows": n_rows, "batch_size": size, **steps, **changes})  # type: ignore[arg-type]


def _row(setting: Setting, case: PictureCase | None, printed: float | None, kept: MeasuredJournal) -> Row:
    paper = None if printed is None else {"psnr": printed}
    if case is None:
        note = NOT_AVAILABLE if setting.get("dataset") == LINNAEUS else NOT_RUN
        return Row(setting, {"psnr": None}, paper, note=note)
    figures = picture_figures(case, SEED, kept)
    facts = {"rows": case.n_rows, "batch_size": case.batch_size, "batches": case.n_batches}
    return Row({**setting, **facts}, figures, paper, baseline={"psnr": grey_psnr(case)})


class Table2(_Pictures):
    name = "jin2021/table2"
    summary = "pictures of four workers from the gradients over batches of 40"
    reference = Reference("jin2021", "table 2")

    def plan(self, *, quick: bool) -> list[Planned]:
        return [
            (
                {"dataset": dataset, "method": method},
                self.case(dataset, quick=quick) if method == "CAFE" and dataset != LINNAEUS else None,
                figures[dataset],
            )
            for method, figures in TABLE_2.items()
            for dataset in DATASETS
        ]


class Table3(_Pictures):
    name = "jin2021/table3"
    summary = "the same by batch size"
    reference = Reference("jin2021", "table 3")

    def plan(self, *, quick: bool) -> list[Planned]:
        sizes = {10: 3, 100: 6} if quick else dict(zip(TABLE_3, TABLE_3, strict=True))
        return [
            (
                {"dataset": dataset, "K": printed_size},
                None if dataset == LINNAEUS else self.case(dataset, quick=quick, batch_size=size),
                TABLE_3[printed_size][dataset],
            )
            for dataset in ((MNIST, LINNAEUS) if quick else DATASETS)
            for printed_size, size in sizes.items()
        ]


class Table6(_Pictures):
    name = "jin2021/table6"
    summary = "the same by number of workers"
    reference = Reference("jin2021", "table 6")

    def plan(self, *, quick: bool) -> list[Planned]:
        return [
            (
                {"dataset": dataset, "workers": workers},
                None if dataset == LINNAEUS else self.case(dataset, quick=quick, side=round(workers**0.5)),
                figures[dataset],
            )
            for workers, figures in TABLE_6.items()
            for dataset in ((MNIST, LINNAEUS) if quick else DATASETS)
        ]


class Table7(_Pictures):
    name = "jin2021/table7"
    summary = "the same while the model trains, by learning rate"
    reference = Reference("jin2021", "table 7")

    def plan(self, *, quick: bool) -> list[Planned]:
        return [
            (
                {"dataset": dataset, "learning_rate": rate},
                None if dataset == LINNAEUS else self.case(dataset, quick=quick, learning_rate=rate),
                printed,
            )
            for dataset in ((MNIST, LINNAEUS) if quick else DATASETS)
            for rate, printed in TABLE_7[dataset]
        ]


class Epochs(_Pictures):
    """Appendix G.2 has no table: there are no figures of the paper's beside ours."""

    name = "jin2021/epochs"
    summary = "the same by the epochs of batches that were seen"
    reference = Reference("jin2021", "section 4.2 (ii), appendix G.2")

    def plan(self, *, quick: bool) -> list[Planned]:
        n_rows, size = self.quick_sizes if quick else self.sizes
        steps = {"n_steps": self.quick_steps} if quick else {}
        return [
            ({"dataset": dataset, "epochs": epochs}, EpochCase(dataset, n_rows, size, epochs=epochs, **steps), None)
            for dataset in ((MNIST,) if quick else (CIFAR, MNIST))
            for epochs in ((1, 3) if quick else (1, 2, 3, 4, 6, 8))
        ]


class Faces(_Pictures):
    name = "jin2021/faces"
    summary = "faces of the Yale database"
    reference = Reference("jin2021", "section 4.5")
    sizes = (160, 40)

    def plan(self, *, quick: bool) -> list[Planned]:
        return [({"dataset": "Yale faces"}, self.case("Yale faces", quick=quick), FACES)]
