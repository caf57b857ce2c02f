"""The label attack by epoch, run for real: the protocol with its messages, a passive party that packs its products."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedleak.attacks.labels.packed_residual_recovery import PackedResidualRecovery
from fedleak.audit.progress import Progress, WatchedSink
from fedleak.audit.randomness import stream
from fedleak.core.arrays import FloatArray
from fedleak.core.payload import Array
from fedleak.core.secret import JOINT, Secret, SecretKind
from fedleak.core.sink import MemorySink
from fedleak.defenses.gaussian_noise import GaussianNoise
from fedleak.deviations.packed_products import PackedProducts
from fedleak.papers.hu2022.data import ACTIVE, PASSIVE, Rows, federation
from fedleak.papers.hu2022.figures import BATCH_SIZE, LEARNING_RATE
from fedleak.papers.hu2022.training import accuracy
from fedleak.protocols.vertical.logistic import VerticalLogistic, VerticalLogisticSettings
from fedleak.theory.hu2022.dp_paillier import NoiseLevels

SCORED_BY_ATTACK = "criterion 4.2 on residuals that the passive party opened by packed products (batches of 256)"


def opened_epochs(
    rows: Rows, initialisation: str, noise: NoiseLevels | None, *, epochs: int, seed: int, progress: Progress
) -> dict[str, FloatArray]:
    """Success over each epoch; accuracy and norm of the weights at its end."""
    settings = VerticalLogisticSettings(
        batch_size=BATCH_SIZE,
        epochs=epochs,
        learning_rate=LEARNING_RATE,
        initialisation=initialisation,
        cipher="sealed",
    )
    parties = federation(rows, settings)
    hooks = PackedProducts().hooks(PASSIVE)
    if noise is not None:
        for name, sigma in ((ACTIVE, noise.active), (PASSIVE, noise.passive)):
            hooks += GaussianNoise(sigma=sigma, parties=(name,)).hooks(parties)
    run = VerticalLogistic().run(
        parties,
        rng=stream(seed, "hu2022", rows.name, initialisation, "protocol"),
        hooks=hooks,
        sink=WatchedSink(MemorySink(), progress),
    )
    facts = run.transcript.facts.seen_by((PASSIVE,), None)
    view = run.view((PASSIVE,), Secret(SecretKind.RESIDUALS, JOINT), facts)
    guess = PackedResidualRecovery().run(view, rng=stream(seed, "hu2022", "attack"))
    per_epoch = -(-len(rows.train) // BATCH_SIZE)
    epoch = guess.ids[:, 0] // per_epoch
    # A row without a residual counts as wrong: nothing was read off it.
    found = guess.values[:, 0]
    right = np.isfinite(found) & ((found < 0) == (rows.train_labels[guess.ids[:, 1]] > 0))
    success = np.bincount(epoch, right, epochs) / len(rows.train)
    return {"success": success, **_model(run.locals, rows, per_epoch, epochs)}


def _model(records: Mapping[str, object], rows: Rows, per_epoch: int, epochs: int) -> dict[str, FloatArray]:
    found = {name: np.zeros(epochs) for name in ("train_accuracy", "test_accuracy", "weight_norm")}
    ends = {per_epoch * (epoch + 1) - 1: epoch for epoch in range(epochs)}
    halves: dict[int, list[FloatArray]] = {epoch: [] for epoch in range(epochs)}
    for party in (ACTIVE, PASSIVE):
        own = records[party]
        assert isinstance(own, tuple | list)
        for record in own:
            if record.name == "weights" and record.round in ends and isinstance(record.value, Array):
                halves[ends[record.round]].append(np.asarray(record.value.values, dtype=np.float64))
    for epoch, parts in halves.items():
        weights = np.concatenate(parts)
        found["train_accuracy"][epoch] = accuracy(weights, rows.train, rows.train_labels)
        found["test_accuracy"][epoch] = accuracy(weights, rows.test, rows.test_labels)
        found["weight_norm"][epoch] = float(np.linalg.norm(weights))
    return found
