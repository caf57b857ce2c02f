"""Table 8 of Jin et al. 2021: stretches of one long training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.networks.cut_view import CutView
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Attack
from fedleak.core.transcript import Message
from fedleak.core.whole.run import MemorySink
from fedleak.papers.jin2021.cafe_run import measure_workers, played, worker_keys
from fedleak.papers.jin2021.printed import MNIST, TABLE_8
from fedleak.papers.jin2021.while_training import (
    StretchSink,
    Table8,
    TrainedCase,
    _keys,
    _row,
    measure_stretches,
    trained_federation,
)
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.play import Played
from fedleak.trial.progress import Progress

pytest.importorskip("torch")

SEED = 3
CASE = TrainedCase(MNIST, n_rows=2, batch_size=1, n_steps=3, learning_rate=1e-3, begins=(0, 5))


class Counted(Progress):
    def __init__(self) -> None:
        self.done = 0

    def begin(self, what: str, total: int | None) -> None:
        pass

    def advance(self) -> None:
        self.done += 1


def test_a_stretch_holds_its_rounds_of_the_whole_run_and_no_others(tmp_path) -> None:
    with played(trained_federation(CASE, SEED), SEED, lambda _: MemorySink()) as whole:
        every = list(whole.run.transcript.messages)
    sinks = []

    def recorded(_) -> StretchSink:
        sinks.append(StretchSink(CASE, tmp_path / "stretches"))
        return sinks[0]

    with played(trained_federation(CASE, SEED), SEED, recorded):
        for begin, captured in sinks[0].captured.items():
            wanted = [m for m in every if begin <= m.round < begin + CASE.n_batches]
            assert len(wanted) > CASE.n_batches
            assert [_words(m) for m in captured.transcript.messages] == [_words(m) for m in wanted]
    assert list(sinks[0].captured) == [0, 5]


def _words(message: Message) -> tuple[object, ...]:
    return message.step, message.round, message.sender, message.receiver


def seen_gradients(run: Played, _: Attack, owner: str) -> dict[str, object]:
    """In place of the attack, which takes its time: what it would have looked at."""
    target = Secret(SecretKind.IMAGES, owner)
    sums = [float(np.sum(found["0.bias"])) for found in CutView(run.view(("server",), target)).gradients()]
    return {"errors": sums, "told": [1] * len(sums), "exact": 0.0, "fit": 0.0, "expected_h_error": 0.0}


def test_the_first_stretch_is_what_a_short_run_gives_and_the_second_is_of_a_model_that_has_trained(monkeypatch) -> None:
    monkeypatch.setattr("fedleak.papers.jin2021.cafe_run._worker_figures", seen_gradients)
    kept, progress = MeasuredJournal(), Counted()
    measure_stretches(CASE, SEED, kept, progress=progress)
    assert progress.done == CASE.n_rounds == 5 + CASE.n_batches
    model, *workers = (kept.of(key) for key in _keys(CASE, SEED, 0))
    alone, short = replace(CASE, begins=(0,)), MeasuredJournal()
    with played(trained_federation(alone, SEED), SEED) as run:
        measure_workers(alone, run, worker_keys(alone, SEED), short)
    assert workers == [short.of(key) for key in worker_keys(alone, SEED)]
    later, *others = (kept.of(key) for key in _keys(CASE, SEED, 5))
    assert others != workers
    assert later["training_loss"] < model["training_loss"]
    assert 0 <= later["test_accuracy"] <= 1


def test_the_paper_s_figures_stand_beside_its_own_sizes_alone() -> None:
    assert Table8().case(quick=False).begins == tuple(TABLE_8)
    assert Table8().case(quick=False).n_rounds == 20_000 + 120
    quick = Table8().case(quick=True)
    journal = MeasuredJournal()
    worker = {"errors": [0.5], "told": [1], "exact": 0.0, "fit": 0.0, "expected_h_error": 0.0}
    model = {"training_loss": 2.0, "test_accuracy": 0.1, "commonest": 0.2, "n_classes": 10.0}
    for case in (quick, Table8().case(quick=False)):
        for key, value in zip(_keys(case, 0, 0), [model, *[worker] * 4], strict=True):
            journal.keep(key, value)
    assert _row(quick, 0, journal).paper is None
    assert _row(Table8().case(quick=False), 0, journal).paper == {
        "psnr": 5.07,
        "training_loss": 2.36,
        "test_accuracy": 0.11,
    }
