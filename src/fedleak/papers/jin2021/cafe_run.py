"""One run of the cut network on pictures or a table, and what a server makes of each worker's gradients.

Runs go to disk: a worker's gradient is about 3 MB. Figures are over all workers' cells together; a picture that the
attack does not tell counts as grey.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.attacks.networks.gradient_separation import GradientSeparation
from fedleak.attacks.networks.input_matching import N_STEPS
from fedleak.attacks.networks.picture_separation import PictureSeparation
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess
from fedleak.core.errors import RunError
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Sink
from fedleak.data.images import load_images
from fedleak.data.partition.by_patches import ByPatches, split_images
from fedleak.metrics.picture_metrics import HALF_LEVEL, decibels
from fedleak.papers.experiment import Figures
from fedleak.papers.jin2021.printed import CIFAR, MNIST
from fedleak.papers.pieces import Piece
from fedleak.protocols.networks.network_settings import FOR_PICTURES, CutSettings
from fedleak.protocols.networks.vocabulary import SHUFFLED
from fedleak.storage.capture_and_truth import DiskSink
from fedleak.theory.batch_separation import batches_for_spans
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.play import Played, play

SERVER = "server"
SOURCES = {CIFAR: "cifar10_subset", MNIST: "mnist", "Yale faces": "yale_faces"}
AUTHORS_BOTTOM = (*FOR_PICTURES, "linear 10", "activation relu")
GREY = 0.5
SPARE_EPOCHS = 1  # beyond what separates all rows by expectation
NEAR = 0.01  # of a column's range


@dataclass(frozen=True)
class PictureCase:
    dataset: str
    n_rows: int
    batch_size: int
    side: int = 2  # workers from top to bottom, and from left to right
    learning_rate: float | None = None  # None: parameters stay as they were drawn
    n_steps: int = N_STEPS

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(f"worker {number + 1}" for number in range(self.side**2))

    @property
    def n_batches(self) -> int:
        per_epoch = -(-self.n_rows // self.batch_size)
        return batches_for_spans(self.n_rows, self.batch_size, shuffled=True) + SPARE_EPOCHS * per_epoch

    @property
    def n_rounds(self) -> int:
        return self.n_batches


@dataclass(frozen=True)
class EpochCase(PictureCase):
    """So many batches that every row is in one of them as often, in place of as many as are needed."""

    epochs: int = 1

    @property
    def n_batches(self) -> int:
        return self.epochs * -(-self.n_rows // self.batch_size)


def server_party() -> Party:
    return Party(SERVER, Role.SERVER, (), Slice(np.arange(0), np.zeros((0, 0))))


def picture_federation(case: PictureCase, seed: int, *, n_tested: int = 0, optimiser: str = "sgd") -> Federation:
    """``n_tested`` further pictures are held out."""
    n_pictures = case.n_rows + n_tested
    images = load_images(SOURCES[case.dataset], max_rows=n_pictures)
    grid = ByPatches(case.workers, case.side, case.side)
    rng, share = np.random.default_rng(seed), n_tested / n_pictures
    parties = split_images(images, grid, labels_at=case.workers[0], test_share=share, rng=rng)
    settings = CutSettings(
        rounds=case.n_rounds,
        batch_size=case.batch_size,
        batches=SHUFFLED,
        trained=case.learning_rate is not None,
        optimiser=optimiser,
        learning_rate=case.learning_rate or 0.01,
        initialisation="glorot",
        bottom=AUTHORS_BOTTOM,
    )
    return Federation("vertical-network", (*parties, server_party()), settings)


Recorded = Callable[[Path], Sink]


@contextmanager
def played(federation: Federation, seed: int, recorded: Recorded = DiskSink) -> Iterator[Played]:
    with tempfile.TemporaryDirectory(prefix="fedleak-jin2021-") as place:
        found = play(federation, Randomness.published(seed, "jin2021"), sink=recorded(Path(place) / "run"))
        try:
            yield found
        finally:
            found.end()


def picture_figures(case: PictureCase, seed: int, kept: MeasuredJournal) -> Figures:
    """PSNR over all workers' pixels, as the paper pools it, with what stands behind it; a worker is a piece."""
    keys = worker_keys(case, seed)
    if any(kept.of(key) is None for key in keys):
        with played(picture_federation(case, seed), seed) as run:
            measure_workers(case, run, keys, kept)
    return pooled_figures([kept.of(key) for key in keys])


def measure_workers(case: PictureCase, run: Played, keys: Sequence[object], kept: MeasuredJournal) -> None:
    """A key for each worker."""
    for key, name in zip(keys, case.workers, strict=True):
        kept.measured(key, partial(_worker_figures, run, PictureSeparation(n_steps=case.n_steps), name))


def picture_piece(case: PictureCase, seed: int) -> Piece:
    return Piece(tuple(worker_keys(case, seed)), partial(picture_figures, case, seed))


def worker_keys(case: PictureCase, seed: int, **further: object) -> list[dict[str, object]]:
    return [{"case": asdict(case), "seed": seed, "worker": name, **further} for name in case.workers]


def pooled_figures(found: Sequence[Mapping[str, Any]]) -> Figures:
    """Over the parts of all workers. A part that is not told counts as grey; ``psnr_told`` is over the others."""
    each = np.concatenate([one["errors"] for one in found])
    told = np.concatenate([one["told"] for one in found]).astype(bool)
    return {
        "psnr": float(decibels(each.mean())),
        "psnr_told": float(decibels(each[told].mean())) if told.any() else None,
        "psnr_each_median": float(np.median(decibels(each))),
        "exact_pixels": float(np.mean([one["exact"] for one in found])),
        "parts_below_30_db": float((decibels(each) < 30).sum()),
        "parts_not_told": float((~told).sum()),
        "parts_that_fit": float(sum(one["fit"] for one in found)),
        "parts": float(len(each)),
        "largest_expected_h_error": float(max(one["expected_h_error"] for one in found)),
    }


def _worker_figures(run: Played, attack: Attack, owner: str) -> dict[str, Any]:
    guess, true, evidence = _answer(run, attack, SecretKind.IMAGES, owner)
    off = np.abs(np.clip(np.nan_to_num(guess, nan=GREY), 0, 1) - true).reshape(len(true), -1)
    return {
        "errors": (off**2).mean(axis=1).tolist(),
        "told": (~np.isnan(guess).reshape(len(guess), -1).any(axis=1)).tolist(),
        "exact": float((off <= HALF_LEVEL).mean()),
        "fit": evidence.get("pictures that fit", 0.0),  # of batches that do not separate a row, nothing is said
        "expected_h_error": evidence.get("largest expected relative error", 0.0),
    }


def grey_psnr(case: PictureCase) -> float:
    """Of all pixels at one half: the baseline."""
    pixels = load_images(SOURCES[case.dataset], max_rows=case.n_rows)
    return float(decibels(float(np.mean((pixels.pixels / pixels.peak - GREY) ** 2))))


def table_figures(federation: Federation, seed: int) -> Figures:
    """Of all workers' cells: those to within 1 % of their column's range, among rows that have a gradient."""
    with played(federation, seed) as run:
        owners = [party.name for party in run.federation.parties if party.columns]
        answers = [_answer(run, GradientSeparation(), SecretKind.FEATURES, owner) for owner in owners]
    near, told = [], []
    for guess, true, _ in answers:
        span = np.maximum(true.max(axis=0) - true.min(axis=0), 1e-300)
        known = ~np.isnan(guess).any(axis=1)
        told.append(known)
        near.append((np.abs(guess - true) <= NEAR * span)[known])
    silent = sum(float(evidence["rows without a gradient"]) for _, _, evidence in answers)
    return {
        "cells_to_1_percent": float(np.concatenate([part.ravel() for part in near]).mean()),
        "rows_told": float(np.concatenate(told).mean()),
        "rows_without_a_gradient": silent,
        "rows_not_told_for_another_reason": float(sum((~known).sum() for known in told)) - silent,
        "largest_expected_error": float(max(evidence["largest expected relative error"] for _, _, evidence in answers)),
    }


def _answer(
    run: Played, attack: Attack, kind: SecretKind, owner: str
) -> tuple[FloatArray, FloatArray, dict[str, float]]:
    """What was guessed and what is true, in the order of the truth's rows, and the numbers of the evidence."""
    target = Secret(kind, owner)
    guess = run.attempt(attack, (SERVER,), target, scores=False).result
    if not isinstance(guess, Guess):
        raise RunError(f"{attack.name} on {owner} failed: {guess}")
    truth = run.run.truth.of(target)
    found = np.full(truth.values.shape, np.nan)
    if len(guess.values):
        found[np.searchsorted(truth.ids, guess.ids)] = guess.values.reshape(len(guess.ids), *truth.values.shape[1:])
    numbers = {name: float(value) for name, value in guess.evidence.items() if isinstance(value, int | float)}
    return found, np.asarray(truth.values), numbers
