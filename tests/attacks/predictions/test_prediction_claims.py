"""What attacks on predictions call recovered is, whatever the model, the release and the columns are."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.equality_projection import EqualityProjection
from fedleak.attacks.predictions.grid_match import GridMatch
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Attack, Status
from fedleak.core.errors import MissingFromViewError
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding, TopLabel
from fedleak.models import LinearModel, Link, Model, convert
from fedleak.protocols.prediction.served_model import PredictionSettings
from prediction_runs import run_prediction, unit_federation, view_of
from random_cases import seeds

ATTACKS = (EqualityProjection, EqualityBayes, EqualityGrid, GridMatch, PosteriorInference)
RELEASES = (None, None, None, Rounding(digits=6), Rounding(digits=3), Rounding(digits=1, mode="nearest"))
FIRST = 700  # of the seeds that are tried here


def drawn(seed: int) -> tuple[Federation, Model | None, Defense | None, Knowledge]:
    """A federation of few rows; a regression with weights of any size, one behind a service, or a trained forest."""
    rng = np.random.default_rng(FIRST + seed)
    width, n_classes = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    kind = str(rng.choice(["linear", "linear", "service", "forest"]))
    settings = PredictionSettings(model="forest", n_trees=int(rng.integers(1, 12))) if kind == "forest" else None
    made = unit_federation(
        {"bank": 2, "fintech": width}, settings or PredictionSettings(), n_classes=n_classes, n_rows=80
    )
    n_steps = int(rng.choice([1, 4, 50, 1000]))
    stepped = rng.random() < 0.6
    for party in made.parties:
        if party.name == "fintech" and stepped:
            party.train.features.flags.writeable = True
            party.train.features[:] = np.round(party.train.features * n_steps) / n_steps
            party.train.features.flags.writeable = False
    columns = tuple(KnownColumn("fintech", f"fintech{i}", step=1 / n_steps) for i in range(width)) if stepped else ()
    releases = (*RELEASES, ConfidenceNoise(sigma=1e-3), TopLabel())
    defense = releases[int(rng.integers(len(releases)))]
    return made, _model(made, kind, n_classes, rng), defense, Knowledge(columns=columns)


def _model(made: Federation, kind: str, n_classes: int, rng: np.random.Generator) -> Model | None:
    if kind == "forest":
        return None
    names = tuple(name for party in made.parties for name in party.columns)
    link = Link.SIGMOID_EACH if kind == "linear" and rng.random() < 0.3 else Link.SOFTMAX
    weights = rng.normal(size=(n_classes, len(names))) * 10.0 ** rng.uniform(-1, 1.5)
    weights[:, rng.random(len(names)) < 0.15] *= 10.0 ** rng.uniform(-14, -3)  # some columns hardly count
    model = LinearModel(names, weights, rng.normal(size=n_classes), link)
    return convert(model.confidences, names) if kind == "service" else model


def claims(seed: int) -> int:
    """How many attacks call their answer recovered; it has to be."""
    made, model, defense, knowledge = drawn(seed)
    run = run_prediction(made, model=model, defense=defense)
    n_recovered = 0
    for kind in ATTACKS:
        attack: Attack = kind()
        try:
            guess = attack.run(
                view_of(run, kind=attack.produces, defense=defense, knowledge=knowledge), rng=np.random.default_rng(0)
            )
        except MissingFromViewError:
            continue
        truth = run.truth.of(guess.secret).values
        if guess.intervals is not None and not isinstance(defense, ConfidenceNoise):
            low, high = guess.intervals[:, :, 0], guess.intervals[:, :, 1]
            assert ((low - 1e-9 <= truth) & (truth <= high + 1e-9)).all(), (seed, attack.name)
        if guess.status is Status.RECOVERED:
            n_recovered += 1
            assert np.abs(guess.values - truth).max() <= 0.01, (seed, attack.name, guess.why)
    return n_recovered


def test_what_is_called_recovered_is_and_intervals_hold() -> None:
    assert sum(claims(seed) for seed in seeds(25)) > 4
