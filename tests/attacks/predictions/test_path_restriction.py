"""Path restriction on trees and forests: the likeliest path, what counts add, and bounds that never lose the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.predictions.forest_path_restriction import ForestPathRestriction
from fedleak.attacks.predictions.path_restriction import PathRestriction, Pick, likeliest_paths
from fedleak.core.adversary import SecretKind
from fedleak.core.attack import Guess
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import Run
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding, TopLabel
from fedleak.metrics.branching_rate import branching
from fedleak.models import TreeModel, interpret
from fedleak.protocols.prediction import vocabulary as prediction
from fedleak.protocols.prediction.served_model import PredictionSettings
from prediction_runs import run_prediction, unit_federation, view_of


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def forest_run(output: str, defense: Defense | None = None, seed: int = 0) -> Run:
    settings = PredictionSettings(model="forest", n_trees=9, forest_depth=3, tree_output=output)
    return run_prediction(unit_federation({"bank": 2, "fintech": 2}, settings, n_rows=150, seed=seed), defense=defense)


def restricted(run: Run, defense: Defense | None = None) -> Guess:
    return ForestPathRestriction().run(view_of(run, kind=SecretKind.RANGES, defense=defense), rng=rng())


def share_inside(guess: Guess, run: Run) -> float:
    truth = run.truth.of(guess.secret).values
    assert guess.intervals is not None
    return float(((guess.intervals[:, :, 0] <= truth) & (truth <= guess.intervals[:, :, 1])).mean())


@pytest.mark.parametrize("output", ["one-hot", "fractions"])
@pytest.mark.parametrize(
    "defense",
    [None, Rounding(digits=3), Rounding(digits=1, mode="nearest"), ConfidenceNoise(sigma=0.02), TopLabel()],
    ids=str,
)
def test_what_a_forest_releases_never_rules_the_truth_out(output: str, defense: Defense | None) -> None:
    for seed in range(5):
        run = forest_run(output, defense, seed)
        assert share_inside(restricted(run, defense), run) == 1.0


@pytest.mark.parametrize("output", ["one-hot", "fractions"])
def test_more_digits_never_widen_what_a_forest_leaves(output: str) -> None:
    releases = (None, Rounding(digits=3), Rounding(digits=1), TopLabel())
    found = [restricted(forest_run(output, defense), defense) for defense in releases]
    widths = [guess.evidence["mean width of an interval"] for guess in found]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def tree_rate(pick: Pick, seed: int, *, counted: bool = True) -> float:
    """Of the branches on the paths that are named, the share that is right; skewed columns, so that counts matter."""
    federation = unit_federation({"bank": 2, "fintech": 3}, PredictionSettings(model="tree"), n_rows=800, seed=seed)
    skewed = tuple(
        replace(party, train=replace(party.train, features=party.train.features**3)) for party in federation.parties
    )
    run = run_prediction(replace(federation, parties=skewed))
    assert run.truth.served is not None
    tree = interpret(run.truth.served.model)
    assert isinstance(tree, TreeModel)
    tree = tree if counted else replace(tree, counts=None)
    run = run_prediction(replace(federation, parties=skewed), model=tree)
    guess = PathRestriction(pick).run(view_of(run, kind=SecretKind.RANGES), rng=rng())
    inputs = next(r.value for r in run.locals[prediction.JOINT_COMPUTATION] if r.name == prediction.INPUTS.name)
    truth = np.asarray(inputs.values)  # type: ignore[union-attr]
    guessed, target = truth.copy(), tree.positions(["fintech0", "fintech1", "fintech2"])
    guessed[:, target] = guess.values
    rate = branching(tree, guessed, truth, target).rate
    assert rate is not None
    return rate


def test_counts_of_training_rows_name_the_path_better_than_volumes_do() -> None:
    by_pick = {pick: np.mean([tree_rate(pick, seed) for seed in range(6)]) for pick in Pick}
    assert by_pick[Pick.COUNTS] > by_pick[Pick.VOLUME] + 0.03
    assert by_pick[Pick.COUNTS] > by_pick[Pick.UNIFORM] + 0.05


def test_a_tree_without_counts_is_attacked_by_own_columns() -> None:
    assert tree_rate(Pick.COUNTS, 1, counted=False) == tree_rate(Pick.OWN_COLUMNS, 1)


def test_the_likeliest_path_is_named_and_equals_are_drawn_alike() -> None:
    weights = np.array([[0.2, 0.5, 0.3]] * 10 + [[0.0, 0.5, 0.5]] * 2000 + [[0.0, 0.0, 0.0]])
    chosen = likeliest_paths(weights, rng())
    assert (chosen[:10] == 1).all()
    assert set(chosen[10:2010]) == {1, 2}
    assert abs(np.mean(chosen[10:2010] == 1) - 0.5) < 0.05
    assert chosen[-1] == -1
