"""Accuracy, attack success and norm of the weights by epoch: what figures 2, 3 and 4 show.

Twice: algorithm 3 in plain floating point, for many epochs on all rows, and the protocol run for real with a passive
party that packs its products. A test holds the two against each other, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from fedleak.attacks.residuals.residual_recovery import PackedResidualRecovery
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, ScalarValue
from fedleak.core.transcript import Record
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense, Hook
from fedleak.core.whole.randomness import Randomness, public_stream
from fedleak.core.whole.run import MemorySink
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.deviations.packed_products import PackedProducts
from fedleak.papers.experiment import Row
from fedleak.papers.hu2022.passive_curve import PassiveCurve, attempted_success
from fedleak.papers.hu2022.printed import BATCH_SIZE, BUDGET_ROUNDS, DELTA, GRADIENT_BOUND, LEARNING_RATE
from fedleak.papers.hu2022.tables import ACTIVE, PASSIVE, Rows, federation
from fedleak.papers.summaries import standard_error
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.member import batches, initial_weights
from fedleak.protocols.linear.vertical_logistic import VerticalLogistic, VerticalLogisticSettings
from fedleak.theory.privacy_budget import NoiseLevels, noise_levels
from fedleak.trial.play import play
from fedleak.trial.progress import Progress, WatchedSink

FIGURES = ("train_accuracy", "test_accuracy", "success", "weight_norm")
SCORED_ON_TRUE = "criterion 4.2 on the true residual with the active party's noise, which packed products open exactly"
SCORED_BY_ATTACK = "criterion 4.2 on residuals that the passive party opened by packed products (batches of 256)"


@dataclass(frozen=True, eq=False)
class Round:
    """``seen`` is what a passive party opens by packed products: f with the active party's noise on it."""

    number: int
    batch: IntArray
    true: FloatArray  # f = theta x - 2y
    seen: FloatArray
    weights_before: FloatArray
    weights_after: FloatArray


def train(
    rows: Rows,
    *,
    initialisation: str,
    noise: NoiseLevels | None,
    batch_size: int,
    learning_rate: float,
    epochs: int,
    rng: np.random.Generator,
) -> Iterator[Round]:
    """Algorithm 3 in plain floating point: the same descent as the protocol's, without its messages."""
    order_rng, weight_rng, noise_rng = rng.spawn(3)
    n_columns = rows.train.shape[1]
    half = n_columns // 2
    signs = 2.0 * rows.train_labels - 1.0
    weights = initial_weights(initialisation, n_columns, n_columns, weight_rng)
    for number, batch in enumerate(batches(len(rows.train), batch_size, epochs, True, order_rng)):
        block = rows.train[batch]
        true = block @ weights - 2.0 * signs[batch]
        of_active, of_passive = _noise(noise, len(batch), noise_rng)
        # Each party's own share is exact, its partner's noised (lines 5 and 8; eq. 45).
        gradient = np.concatenate([block[:, :half].T @ (true + of_passive), block[:, half:].T @ (true + of_active)]) / (
            4 * len(batch)
        )
        after = weights - learning_rate * gradient
        yield Round(number, batch, true, true + of_active, weights, after)
        weights = after


def _noise(levels: NoiseLevels | None, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    drawn = rng.standard_normal((2, count))
    return (drawn[0] * 0.0, drawn[1] * 0.0) if levels is None else (drawn[0] * levels.active, drawn[1] * levels.passive)


def accuracy(weights: FloatArray, rows: FloatArray, labels: IntArray) -> float:
    return float(np.mean((rows @ weights > 0) == (labels > 0)))


@dataclass(frozen=True, eq=False)
class Curves:
    """(seeds, epochs) of each figure."""

    by_name: dict[str, FloatArray]


def paper_noise(epsilon: float | None, *, epochs: int, as_printed: bool = False) -> NoiseLevels | None:
    """Eqs. 71 and 72 with the paper's T = 30 and G = 1; None without defense."""
    if epsilon is None:
        return None
    return noise_levels(
        epsilon=epsilon,
        delta=DELTA,
        epochs=epochs,
        rounds=BUDGET_ROUNDS,
        learning_rate=LEARNING_RATE,
        batch_size=BATCH_SIZE,
        gradient_bound=GRADIENT_BOUND,
        as_printed=as_printed,
    )


def one_seed(
    rows: Rows, initialisation: str, noise: NoiseLevels | None, *, epochs: int, seed: int, passive: bool = False
) -> dict[str, FloatArray]:
    """All four figures at the end of each epoch (success: over the epoch); if asked, the passive party's success."""
    signs = 2 * rows.train_labels - 1
    rng = public_stream(seed, "hu2022", rows.name, initialisation)
    right, found = 0, {name: np.zeros(epochs) for name in FIGURES}
    per_epoch = -(-len(rows.train) // BATCH_SIZE)
    curve = None
    if passive:
        facts = public_facts(rows, _settings(initialisation, epochs), noise)
        curve = PassiveCurve(rows, facts, epochs=epochs, per_epoch=per_epoch)
    for one in train(
        rows,
        initialisation=initialisation,
        noise=noise,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        epochs=epochs,
        rng=rng,
    ):
        right += int(np.sum(-np.sign(one.seen) == signs[one.batch]))
        if curve is not None:
            curve.add(one.number, one.batch, one.weights_before, one.weights_after, LEARNING_RATE)
        if (one.number + 1) % per_epoch == 0:
            epoch = one.number // per_epoch
            found["train_accuracy"][epoch] = accuracy(one.weights_after, rows.train, rows.train_labels)
            found["test_accuracy"][epoch] = accuracy(one.weights_after, rows.test, rows.test_labels)
            found["success"][epoch] = right / len(rows.train)
            found["weight_norm"][epoch] = float(np.linalg.norm(one.weights_after))
            right = 0
    return found if curve is None else {**found, "passive_success": curve.success()}


def public_facts(rows: Rows, settings: VerticalLogisticSettings, noise: NoiseLevels | None) -> Facts:
    """What the passive party knows."""
    parties = tuple(party.facts for party in federation(rows, settings).parties)
    facts = VerticalLogistic.facts(settings, parties, len(rows.train)).with_max_row_norm(rows.max_row_norm)
    return (facts if noise is None else NoiseOfBoth(noise).declare(facts)).seen_by((PASSIVE,), None)


def _settings(initialisation: str, epochs: int) -> VerticalLogisticSettings:
    return VerticalLogisticSettings(
        batch_size=BATCH_SIZE,
        epochs=epochs,
        learning_rate=LEARNING_RATE,
        initialisation=initialisation,
        cipher="sealed",
    )


def gather(runs: Sequence[dict[str, FloatArray]]) -> Curves:
    return Curves({name: np.array([run[name] for run in runs]) for name in runs[0]})


def epoch_rows(
    setting: dict[str, ScalarValue], curves: Curves, names: Sequence[str], note: str, *, every: bool = True
) -> list[Row]:
    """A row an epoch; or only the 1st, 5th, 10th, 20th and the last."""
    n_epochs = next(iter(curves.by_name.values())).shape[1]
    shown = range(n_epochs) if every else sorted({e for e in (0, 4, 9, 19, n_epochs - 1) if e < n_epochs})
    found = []
    for epoch in shown:
        summary = reduce(or_, (standard_error(name, curves.by_name[name][:, epoch]) for name in names))
        found.append(Row({**setting, "epoch": epoch + 1}, summary.figures, note=note, bands=summary.bands))
    return found


@dataclass(frozen=True)
class NoiseOfBoth(Defense):
    """Given levels: the noise of the paper's whole budget, also where fewer epochs are run."""

    name = "noise-of-both-parties"
    summary = "Gaussian noise of a level of its own on the scores that each party shares"
    reference = Reference("hu2022", "algorithm 3")
    acts_at = GaussianNoise.acts_at

    levels: NoiseLevels

    def declare(self, facts: Facts) -> Facts:
        return facts.with_score_noise({ACTIVE: self.levels.active, PASSIVE: self.levels.passive})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        active = GaussianNoise(sigma=self.levels.active, parties=(ACTIVE,))
        passive = GaussianNoise(sigma=self.levels.passive, parties=(PASSIVE,))
        return active.hooks(federation) + passive.hooks(federation)


def opened_epochs(
    rows: Rows, initialisation: str, noise: NoiseLevels | None, *, epochs: int, seed: int, progress: Progress
) -> dict[str, FloatArray]:
    """Success over each epoch; accuracy and norm of the weights at its end."""
    played = play(
        federation(rows, _settings(initialisation, epochs)),
        Randomness.published(seed, "hu2022", rows.name, initialisation),
        defense=None if noise is None else NoiseOfBoth(noise),
        deviation=PackedProducts(),
        deviating=PASSIVE,
        sink=WatchedSink(MemorySink(), progress, VerticalLogistic.named_steps),
    )
    target = Secret(SecretKind.RESIDUALS, JOINT)
    guess = played.attempt(PackedResidualRecovery, (PASSIVE,), target, scores=False).guess
    per_epoch = -(-len(rows.train) // BATCH_SIZE)
    epoch = guess.ids[:, 0] // per_epoch
    # A row without a residual counts as wrong: nothing was read off it.
    found = guess.values[:, 0]
    right = np.isfinite(found) & ((found < 0) == (rows.train_labels[guess.ids[:, 1]] > 0))
    success = np.bincount(epoch, right, epochs) / len(rows.train)
    passive = attempted_success(played, rows, epochs=epochs, per_epoch=per_epoch)
    return {
        "success": success,
        "passive_success": passive,
        **_model_by_epoch(played.run.locals, rows, per_epoch, epochs),
    }


def _model_by_epoch(
    records: Mapping[str, Sequence[Record]], rows: Rows, per_epoch: int, epochs: int
) -> dict[str, FloatArray]:
    found = {name: np.zeros(epochs) for name in ("train_accuracy", "test_accuracy", "weight_norm")}
    ends = {per_epoch * (epoch + 1) - 1: epoch for epoch in range(epochs)}
    halves: dict[int, list[FloatArray]] = {epoch: [] for epoch in range(epochs)}
    for party in (ACTIVE, PASSIVE):
        for record in records[party]:
            if record.name == linear.WEIGHTS.name and record.round in ends and isinstance(record.value, Array):
                halves[ends[record.round]].append(np.asarray(record.value.values, dtype=np.float64))
    for epoch, parts in halves.items():
        weights = np.concatenate(parts)
        found["train_accuracy"][epoch] = accuracy(weights, rows.train, rows.train_labels)
        found["test_accuracy"][epoch] = accuracy(weights, rows.test, rows.test_labels)
        found["weight_norm"][epoch] = float(np.linalg.norm(weights))
    return found
