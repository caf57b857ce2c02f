"""A certificate stands over right answers alone: what an attack proves from the view is held against the truth."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from harness import ATTACK_NAMES, situation

from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.attacks.predictions.equality_solving import _proof as proof_of_rows
from fedleak.attacks.residuals.batch_systems import BatchSystem, proof_of, solve
from fedleak.attacks.residuals.bounded_score_labels import BoundedScoreLabels
from fedleak.attacks.residuals.own_side import OwnScore
from fedleak.attacks.residuals.residual_recovery import ResidualRecovery
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.finding import Better
from fedleak.core.payload import Array, Table
from fedleak.core.steps import FEATURES, Role
from fedleak.core.transcript import EVERYONE, Message, Record
from fedleak.core.view import View
from fedleak.core.whole.hooks import Defense
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.models.score_models import LinearModel, Link
from fedleak.protocols.linear.vocabulary import BATCH, OWN_GRADIENT
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.testing.contracts import deciding_score
from fedleak.testing.situations import Situation
from prediction_runs import run_prediction, unit_federation, view_of

PROVING = {
    "aligned-members",
    "arbiter-collusion",
    "bare-ciphertexts",
    "binary-records",
    "bounded-score-labels",
    "claimed-residual-recovery",
    "column-products",
    "digest-enumeration",
    "divided-senders",
    "gradient-separation",
    "histogram-decoding",
    "offered-thresholds",
    "residual-recovery",
    "residual-sign",
    "row-owners",
    "reverse-sum",
    "sample-gradients",
    "sent-products",
    "threshold-search",
    "threshold-search-printed",
    "unblinded-scores",
}


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_what_is_proved_is_true(name: str) -> None:
    attempt = situation(name).attempt()
    assert bool(attempt.guess.certificate) == (name in PROVING), attempt.guess.certificate
    if attempt.guess.certificate:
        score = deciding_score(attempt)
        assert score is not None
        assert score.value == pytest.approx(1.0 if score.better is Better.HIGHER else 0.0, abs=1e-4)
        accuracy = [one.value for one in attempt.scores if one.metric == "label-accuracy"]
        assert accuracy in ([], [1.0]), "the right order of labels is not yet the right labels"


def undeclared(case: Situation) -> Guess:
    """The answer on a defended run whose header says nothing of the defense."""
    view = replace(case.view(), facts=situation(case.task.attack.name).view().facts)
    return case.task.attack().run(view, rng=np.random.default_rng(0))


@pytest.mark.parametrize("sigma", [0.05, 20.0])
@pytest.mark.parametrize("name", ["residual-recovery", "residual-sign"])
def test_nothing_is_proved_under_noise_that_nobody_declared(name: str, sigma: float) -> None:
    assert undeclared(situation(name, defense=GaussianNoise(sigma=sigma))).certificate == ""


@pytest.mark.parametrize("attack", [ResidualRecovery, ResidualSign])
def test_nothing_is_proved_under_noise_that_is_declared(attack: type[Attack]) -> None:
    guess = situation(attack.name, defense=GaussianNoise(sigma=0.05)).attempt(isolated=False).guess
    assert guess.certificate == ""


@pytest.mark.parametrize("start", ["xavier", None])
def test_labels_are_not_proved_where_the_start_is_uncertain(start: str | None) -> None:
    case = situation("residual-sign")
    view = case.view()
    view = replace(view, facts=replace(view.facts, initialisation=start))
    assert ResidualSign().run(view, rng=np.random.default_rng(0)).certificate == ""


@pytest.mark.parametrize("attack", [ResidualSign, BoundedScoreLabels])
def test_labels_are_not_proved_by_a_bound_that_own_rows_break(attack: type[Attack]) -> None:
    view = situation(attack.name).view()
    longest = float(OwnScore(view).norms().max())
    kept, broken = (
        attack().run(replace(view, facts=view.facts.with_max_row_norm(bound)), rng=np.random.default_rng(0))
        for bound in (view.facts.max_row_norm, 0.99 * longest)
    )
    assert kept.certificate
    assert broken.certificate == ""


def system(n_rows: int, n_columns: int, *, off: float = 0.0) -> BatchSystem:
    rng = np.random.default_rng(3)
    rows, residuals = rng.standard_normal((n_rows, n_columns)), rng.choice([-0.5, 0.5], n_rows)
    gradient = rows.T @ residuals / n_rows + off * rng.standard_normal(n_columns)
    return BatchSystem(0, np.arange(n_rows), rows, gradient)


def test_residuals_are_proved_by_equations_to_spare_that_agree() -> None:
    assert proof_of([solve(system(5, 8))])
    assert proof_of([solve(system(8, 8))]) == ""  # whatever the gradient is, it has a solution
    assert proof_of([solve(system(9, 8))]) == ""
    assert proof_of([solve(system(5, 8, off=1e-4))]) == ""
    assert proof_of([]) == ""


def served(n_classes: int, defense: Defense | None = None) -> Guess:
    """Two hidden columns; a defense is not declared."""
    federation = unit_federation({"bank": 3, "fintech": 2}, PredictionSettings(), n_classes=n_classes)
    return EqualitySolving().run(view_of(run_prediction(federation, defense=defense)), rng=np.random.default_rng(0))


def test_rows_are_proved_by_confidences_to_spare() -> None:
    assert "with 2 equations to spare" in served(5).certificate
    assert served(3).certificate == ""  # two equations for two columns: always solved, whatever was released


@pytest.mark.parametrize("third", [(0.0, 0.0), (1.0, 2.0), (-1.0, -2.0)])
def test_outputs_that_follow_from_others_prove_no_rows(third: tuple[float, float]) -> None:
    weights = np.array([(1.0, 2.0), (-2.0, 1.0), third])
    model = LinearModel(("a", "b"), weights, np.zeros(3), Link.SIGMOID_EACH)
    released = np.round(model.confidences(np.random.default_rng(0).standard_normal((6, 2))), 2)
    found = np.linalg.solve(weights[:2], np.log(released / (1 - released))[:, :2].T).T
    case = SimpleNamespace(
        model=model, n_unknown=2, ids=np.arange(6), confidences=released, inputs=lambda values: values
    )
    case.part = lambda rows: case  # so few rows are one part
    assert np.allclose(model.confidences(found), released)  # as if nothing had been rounded
    assert proof_of_rows(case, SimpleNamespace(values=found)) == ""


@pytest.mark.parametrize("defense", [Rounding(digits=6), ConfidenceNoise(sigma=1e-6)], ids=lambda one: one.name)
def test_rows_are_not_proved_by_blurred_confidences(defense: Defense) -> None:
    assert served(5, defense).certificate == ""


def own_training(columns: FloatArray, trained_on: FloatArray) -> View:
    """Three rounds of three rows each; the gradients are of the rows that were really trained on."""
    residuals = np.random.default_rng(4).choice([-0.5, 0.5], 9)
    ids, records, messages = np.arange(9), [], []
    names = tuple(f"x{i}" for i in range(columns.shape[1]))
    records.append(Record("own-data", -1, FEATURES.name, Table(names, ids, columns)))
    for number, batch in enumerate(ids.reshape(3, 3)):
        messages.append(Message(BATCH.name, number, "bank", EVERYONE, Array(batch)))
        gradient = trained_on[batch].T @ residuals[batch] / 3
        records.append(Record("own-data", number, OWN_GRADIENT.name, Array(gradient)))
    parties = (PartyFacts("bank", Role.ACTIVE, 2), PartyFacts("fintech", Role.PASSIVE, len(names)))
    target = Secret(SecretKind.RESIDUALS, "joint computation")
    return View(("fintech",), target, Facts("captured", parties), messages, {"fintech": records})


@pytest.mark.parametrize("n_columns", [3, 5])
def test_columns_that_are_copies_or_sums_of_others_prove_nothing(n_columns: int) -> None:
    table = np.random.default_rng(5).standard_normal((9, n_columns))
    repeated = np.column_stack([table, table[:, 0], table.sum(axis=1)])
    other_rows = np.roll(repeated, 3, axis=0)  # the batches that the messages name are not those that were used
    honest, wrong = (
        ResidualRecovery().run(own_training(repeated, trained_on), rng=np.random.default_rng(0))
        for trained_on in (repeated, other_rows)
    )
    assert wrong.certificate == ""
    assert bool(honest.certificate) == (n_columns > 3)
