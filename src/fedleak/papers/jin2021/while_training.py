"""Table 8: what gradients give while the model trains, beside its loss and accuracy.

The paper's attack descends from the first iteration on, a step a batch. Ours solves, so that any stretch of batches
that separates the rows is enough: each of the table's iterations begins one. The training between stretches goes by
without being kept: a batch of it is 12 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.transcript import Message, Record
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Captured, Sink
from fedleak.models.local_batch import loss_gradient
from fedleak.papers.experiment import Experiment, Figures, Row
from fedleak.papers.jin2021.cafe_run import (
    PictureCase,
    grey_psnr,
    measure_workers,
    picture_federation,
    played,
    pooled_figures,
    worker_keys,
)
from fedleak.papers.jin2021.printed import MNIST, TABLE_8
from fedleak.papers.pieces import Piece
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.cut_network import CutNetwork
from fedleak.protocols.networks.vertical_network import VerticalNetwork
from fedleak.storage.capture_and_truth import DiskSink
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.progress import Progress, Silent, WatchedSink

SEED = 0
N_TESTED, RATE = 100, 1e-6  # section 4.3
QUIET = Silent()


@dataclass(frozen=True)
class TrainedCase(PictureCase):
    """``begins``: the iterations at which a stretch of recorded batches begins."""

    begins: tuple[int, ...] = tuple(TABLE_8)

    @property
    def n_rounds(self) -> int:
        return max(self.begins) + self.n_batches


def trained_federation(case: TrainedCase, seed: int) -> Federation:
    return picture_federation(case, seed, n_tested=N_TESTED, optimiser="adam")


class StretchSink(Sink):
    """Of a long run some stretches of rounds alone, each a capture of its own."""

    def __init__(self, case: TrainedCase, folder: Path) -> None:
        self._stretches = {begin: range(begin, begin + case.n_batches) for begin in case.begins}
        folder.mkdir()
        self._sinks = {begin: DiskSink(folder / f"from-{begin}") for begin in case.begins}
        self.captured: dict[int, Captured] = {}

    def message(self, message: Message) -> None:
        for sink in self._of(message.round):
            sink.message(message)

    def record(self, party: str, record: Record) -> None:
        for sink in self._of(record.round):
            sink.record(party, record)

    def finish(self, facts: Facts) -> Captured:
        self.captured = {begin: sink.finish(facts) for begin, sink in self._sinks.items()}
        return self.captured[max(self.captured)]

    def abandon(self) -> None:
        for sink in self._sinks.values():
            sink.abandon()

    def _of(self, number: int) -> Iterator[DiskSink]:
        return (self._sinks[begin] for begin, rounds in self._stretches.items() if number in rounds)


class Table8(Experiment):
    name = "jin2021/table8"
    summary = "pictures while the model trains, beside its loss and accuracy"
    reference = Reference("jin2021", "table 8")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (SEED,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        case = self.case(quick=quick)
        progress.begin(self.name, case.n_rounds)
        measure_stretches(case, SEED, self.kept, progress=progress)
        yield from (_row(case, begin, self.kept) for begin in case.begins)

    def pieces(self, *, quick: bool) -> list[Piece]:
        case = self.case(quick=quick)
        keys = [key for begin in case.begins for key in _keys(case, SEED, begin)]
        return [Piece(tuple(keys), partial(measure_stretches, case, SEED))]

    def case(self, *, quick: bool) -> TrainedCase:
        trained = partial(TrainedCase, MNIST, learning_rate=RATE)
        return trained(8, 2, n_steps=60, begins=(0, 40)) if quick else trained(800, 40)


def measure_stretches(case: TrainedCase, seed: int, kept: MeasuredJournal, *, progress: Progress = QUIET) -> None:
    if all(kept.of(key) is not None for begin in case.begins for key in _keys(case, seed, begin)):
        return
    stretches: list[StretchSink] = []

    def recorded(folder: Path) -> Sink:
        stretches.append(StretchSink(case, folder))
        return WatchedSink(stretches[0], progress, VerticalNetwork.named_steps)

    federation = trained_federation(case, seed)
    with played(federation, seed, recorded) as run:
        for begin, captured in stretches[0].captured.items():
            model, *workers = _keys(case, seed, begin)
            kept.measured(model, partial(_model_figures, federation, captured))
            stretch = run.recorded_as(captured)
            try:
                measure_workers(case, stretch, workers, kept)
            finally:
                stretch.end()


def _keys(case: TrainedCase, seed: int, begin: int) -> list[dict[str, object]]:
    """Of the model, then of each worker."""
    workers = worker_keys(case, seed, begins=begin)
    return [{**workers[0], "worker": None}, *workers]


def _model_figures(federation: Federation, captured: Captured) -> dict[str, float]:
    """Before the stretch: as the first message of its parameters says."""
    sent = next(m.payload for m in captured.transcript.messages if m.step == networks.NETWORKS.name)
    network = CutNetwork.from_payload(sent)
    owners = [federation.party(name) for name in network.bottoms]
    holder = next(party for party in federation.parties if party.train.labels is not None)
    tested = [owner.test for owner in owners if owner.test is not None]
    assert holder.train.labels is not None
    assert holder.test is not None
    assert holder.test.labels is not None
    loss = loss_gradient(network.scores([owner.train for owner in owners]), holder.train.labels.astype(np.int64))[0]
    counts = np.bincount(holder.train.labels.astype(np.int64))
    return {
        "training_loss": loss,
        "test_accuracy": float(np.mean(network.predict(tested) == holder.test.labels)),
        "commonest": float(np.mean(holder.test.labels == np.argmax(counts))),
        "n_classes": float(len(counts)),
    }


def _row(case: TrainedCase, begin: int, kept: MeasuredJournal) -> Row:
    model, *workers = (kept.of(key) for key in _keys(case, SEED, begin))
    return Row(
        {"dataset": case.dataset, "iteration": begin, "rows": case.n_rows, "batch_size": case.batch_size},
        {**pooled_figures(workers), **_told_of(model)},
        _printed(case, begin),
        baseline={
            "psnr": grey_psnr(case),
            "training_loss": float(np.log(model["n_classes"])),
            "test_accuracy": model["commonest"],
        },
        note=f"from {case.n_batches} batches that begin at this iteration",
    )


def _told_of(model: Mapping[str, Any]) -> Figures:
    return {name: model[name] for name in ("training_loss", "test_accuracy")}


def _printed(case: TrainedCase, begin: int) -> Figures | None:
    """The paper's figures are of its own sizes."""
    if begin not in TABLE_8 or case.n_rows != 800:
        return None
    return dict(zip(("psnr", "training_loss", "test_accuracy"), TABLE_8[begin], strict=True))
