"""More information never makes an attack on predictions worse.

Errors are means over runs of several seeds: what is known more of a run may mislead about a row, not about all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.equality_projection import EqualityProjection
from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.attacks.predictions.grid_match import GridMatch
from fedleak.attacks.predictions.path_restriction import PathRestriction
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.adversary import SecretKind
from fedleak.core.attack import Attack
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import Run
from fedleak.defenses.coarse_confidences import Rounding, TopLabel
from fedleak.models import Model, convert, interpret
from fedleak.protocols.prediction.served_model import PredictionSettings
from prediction_runs import run_prediction, squared_error, unit_federation, view_of

SLACK = 1.02  # of the error with less knowledge: luck of few seeds
SEEDS = range(4)
LESS_AND_LESS: tuple[Defense | None, ...] = (
    None,
    Rounding(digits=6),
    Rounding(digits=3),
    Rounding(digits=1),
    TopLabel(),
)
STEPS = 8  # of a hidden column that takes few values


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def federation(settings: PredictionSettings, seed: int, *, n_classes: int = 5, n_hidden: int = 2) -> Federation:
    """Hidden columns in steps, so that attacks that know of them can be asked the same question."""
    made = unit_federation({"bank": 3, "fintech": n_hidden}, settings, n_classes=n_classes, n_rows=300, seed=seed)
    for party in made.parties:
        if party.name == "fintech":
            party.train.features.flags.writeable = True
            party.train.features[:] = np.round(party.train.features * STEPS) / STEPS
            party.train.features.flags.writeable = False
    return made


def steps(n_hidden: int) -> Knowledge:
    return Knowledge(columns=tuple(KnownColumn("fintech", f"fintech{i}", step=1 / STEPS) for i in range(n_hidden)))


def error(run: Run, attack: Attack, defense: Defense | None = None, knowledge: Knowledge | None = None) -> float:
    view = view_of(run, kind=attack.produces, defense=defense, knowledge=knowledge)
    return squared_error(attack.run(view, rng=rng()), run)


def mean_error(of_seed: Callable[[int], float]) -> float:
    return float(np.mean([of_seed(seed) for seed in SEEDS]))


def assert_no_worse(errors: list[float]) -> None:
    """From most to least knowledge."""
    for more, less in pairwise(errors):
        assert more <= SLACK * less + 1e-12, errors
    assert errors[0] < errors[-1], errors


@pytest.mark.parametrize("n_hidden", [2, 4, 7])
@pytest.mark.parametrize("attack", [EqualityProjection(), EqualityBayes(), PosteriorInference()], ids=lambda a: a.name)
def test_more_digits_of_a_regression(attack: Attack, n_hidden: int) -> None:
    settings = PredictionSettings(l2=1e-4)
    releases = LESS_AND_LESS if isinstance(attack, PosteriorInference) else LESS_AND_LESS[:-1]  # a label is no equation

    def of(defense: Defense | None) -> float:
        return mean_error(
            lambda seed: error(
                run_prediction(federation(settings, seed, n_hidden=n_hidden), defense=defense), attack, defense
            )
        )

    assert_no_worse([of(defense) for defense in releases])


@pytest.mark.parametrize("model", ["tree", "forest"])
@pytest.mark.parametrize("output", ["one-hot", "fractions"])
def test_more_digits_of_trees(model: str, output: str) -> None:
    settings = PredictionSettings(model=model, tree_output=output, n_trees=30, tree_depth=4)
    found = [
        mean_error(
            lambda seed, defense=defense: error(  # type: ignore[misc]
                run_prediction(federation(settings, seed), defense=defense), PosteriorInference(), defense
            )
        )
        for defense in LESS_AND_LESS
    ]
    for more, less in pairwise(found):
        assert more <= SLACK * less, found


def test_more_digits_of_a_network() -> None:
    pytest.importorskip("torch")
    settings = PredictionSettings(model="network", hidden=(16, 8), epochs=40)
    models: dict[int, Model] = {}
    for seed in SEEDS:
        served = run_prediction(federation(settings, seed)).truth.served
        assert served is not None
        models[seed] = interpret(served.model)

    def of(defense: Defense | None) -> float:
        return mean_error(
            lambda seed: error(
                run_prediction(federation(settings, seed), model=models[seed], defense=defense),
                PosteriorInference(),
                defense,
            )
        )

    assert_no_worse([of(defense) for defense in LESS_AND_LESS])


@pytest.mark.parametrize("model", ["logistic", "tree", "forest"])
def test_more_digits_of_columns_of_few_values(model: str) -> None:
    settings = PredictionSettings(model=model, n_trees=30)
    found = [
        mean_error(
            lambda seed, defense=defense: error(  # type: ignore[misc]
                run_prediction(federation(settings, seed), defense=defense), GridMatch(), defense, steps(2)
            )
        )
        for defense in LESS_AND_LESS
    ]
    for more, less in pairwise(found):
        assert more <= SLACK * less + 1e-12, found


@pytest.mark.parametrize("defense", [None, Rounding(digits=3), Rounding(digits=1)], ids=str)
@pytest.mark.parametrize("n_hidden", [3, 5])
def test_types_beside_ranges(defense: Defense | None, n_hidden: int) -> None:
    def of(attack: Attack, knowledge: Knowledge | None) -> float:
        return mean_error(
            lambda seed: error(
                run_prediction(federation(PredictionSettings(), seed, n_classes=3, n_hidden=n_hidden), defense=defense),
                attack,
                defense,
                knowledge,
            )
        )

    assert of(EqualityGrid(), steps(n_hidden)) <= SLACK * of(EqualityBayes(), None)


def test_ranges_beside_none() -> None:
    """The plain solution does not know of the box; the projection does."""

    def of(attack: Attack) -> float:
        return mean_error(
            lambda seed: error(run_prediction(federation(PredictionSettings(), seed, n_hidden=7)), attack)
        )

    assert of(EqualityBayes()) <= of(EqualityProjection()) <= of(EqualitySolving())


def own_model(settings: PredictionSettings, seed: int) -> tuple[Federation, Model]:
    served_to = federation(settings, seed, n_hidden=3)
    served = run_prediction(served_to).truth.served
    assert served is not None
    return served_to, interpret(served.model)


@pytest.mark.parametrize("kind", ["logistic", "network", "forest"])
def test_a_model_that_is_read_beside_one_that_is_asked(kind: str) -> None:
    if kind == "network":
        pytest.importorskip("torch")
    settings = PredictionSettings(model=kind, hidden=(12, 8), epochs=30, n_trees=30)
    read, asked = [], []
    for seed in SEEDS:
        served_to, model = own_model(settings, seed)
        read.append(error(run_prediction(served_to, model=model), PosteriorInference()))
        behind = convert(model.confidences, model.columns)
        asked.append(error(run_prediction(served_to, model=behind), PosteriorInference()))
    assert np.mean(read) <= SLACK * np.mean(asked) + 1e-6


@pytest.mark.parametrize("output", ["one-hot", "fractions"])
def test_digits_never_add_paths_of_a_tree(output: str) -> None:
    settings = PredictionSettings(model="tree", tree_output=output, tree_depth=4)
    left = []
    for defense in LESS_AND_LESS[:-1]:
        run = run_prediction(federation(settings, 0), defense=defense)
        guess = PathRestriction().run(view_of(run, kind=SecretKind.RANGES, defense=defense), rng=rng())
        left.append(guess.evidence["mean number of candidate paths"])
    assert left == sorted(left)


@pytest.mark.parametrize("kind", ["logistic", "network", "forest"])
def test_more_predictions_beside_fewer(kind: str) -> None:
    """Of the same rows: the first 40, alone and among 300."""
    if kind == "network":
        pytest.importorskip("torch")
    settings = PredictionSettings(model=kind, hidden=(12, 8), epochs=30, n_trees=30)
    many, few = [], []
    for seed in SEEDS:
        served_to, model = own_model(settings, seed)
        run = run_prediction(served_to, model=model)
        whole = PosteriorInference().run(view_of(run), rng=rng())
        truth = run.truth.of(whole.secret).values
        many.append(float(np.mean((whole.values[:40] - truth[:40]) ** 2)))
        parties = tuple(
            type(party)(party.name, party.role, party.columns, _first(party.train, 40)) for party in served_to.parties
        )
        part = run_prediction(type(served_to)(served_to.protocol, parties, served_to.settings), model=model)
        few.append(error(part, PosteriorInference()))
    assert np.mean(many) <= 1.05 * np.mean(few) + 1e-6


def _first(whole, n_rows: int):  # type: ignore[no-untyped-def]
    labels = None if whole.labels is None else whole.labels[:n_rows]
    return type(whole)(whole.ids[:n_rows], whole.features[:n_rows], labels)
