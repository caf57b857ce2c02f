"""Small runs of the prediction protocol, made in memory."""

from __future__ import annotations

import numpy as np

import federations
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.knowledge import Knowledge
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import Run
from fedleak.models import Model
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction


def unit_federation(
    widths: dict[str, int], settings: PredictionSettings, *, n_classes: int = 3, n_rows: int = 200, seed: int = 0
) -> Federation:
    """Uniform columns; the classes are bands of a linear score, so that every kind of model learns something."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, sum(widths.values())))
    score = rows @ rng.normal(size=rows.shape[1])
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    parties, start = [], 0
    for name, width in widths.items():
        active = name == "bank"
        part = Slice(np.arange(500, 500 + n_rows), rows[:, start : start + width], labels if active else None)
        role = Role.ACTIVE if active else Role.PASSIVE
        parties.append(Party(name, role, tuple(f"{name}{i}" for i in range(width)), part))
        start += width
    return Federation("vertical-prediction", tuple(parties), settings)


def run_prediction(federation: Federation, *, model: Model | None = None, defense: Defense | None = None) -> Run:
    configured = defense.configure(federation) if defense else federation
    hooks = defense.hooks(configured) if defense else ()
    return federations.run(configured, seed=3, hooks=hooks, defense=defense, protocol=VerticalPrediction(model))


def view_of(
    run: Run,
    coalition: tuple[str, ...] = ("bank",),
    owner: str = "fintech",
    *,
    kind: SecretKind = SecretKind.FEATURES,
    defense: Defense | None = None,
    knowledge: Knowledge | None = None,
) -> View:
    facts = run.transcript.facts if defense is None else defense.declare(run.transcript.facts)
    return run.view(coalition, Secret(kind, owner), facts.seen_by(coalition, None), knowledge=knowledge)


def squared_error(guess, run: Run) -> float:
    truth = run.truth.of(guess.secret)
    position = {int(row): index for index, row in enumerate(truth.ids)}
    return float(np.mean((guess.values - truth.values[[position[int(row)] for row in guess.ids]]) ** 2))
