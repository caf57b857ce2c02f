"""Attacks on predictions beyond their positive controls: thresholds, edges, and what each must never do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fedleak.attacks.predictions import equality_bayes, equality_solving
from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_projection import EqualityProjection
from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.attacks.predictions.generative_regression import NOISE_VARIANCE, GenerativeRegressionNetwork
from fedleak.attacks.predictions.generator import GeneratorOptions
from fedleak.attacks.predictions.network_rows import score_slopes
from fedleak.attacks.predictions.path_restriction import PathRestriction, Pick
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.core.adversary import SecretKind
from fedleak.core.attack import Status
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding, TopLabel
from fedleak.models import LinearModel, Link, NetworkModel, interpret
from fedleak.protocols.prediction.served_model import PredictionSettings
from prediction_runs import run_prediction, squared_error, unit_federation, view_of

EQUALITY = (EqualitySolving, EqualityProjection, EqualityBayes)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("attack", EQUALITY, ids=lambda a: a.name)
@pytest.mark.parametrize(("n_classes", "width"), [(2, 1), (3, 2), (5, 4), (5, 2)])
def test_up_to_c_minus_1_unknown_columns_are_exact(attack, n_classes, width):
    run = run_prediction(unit_federation({"bank": 3, "fintech": width}, PredictionSettings(), n_classes=n_classes))
    guess = attack().run(view_of(run), rng=rng())
    assert guess.status is Status.RECOVERED
    assert squared_error(guess, run) < 1e-16


@pytest.mark.parametrize(("n_classes", "width"), [(3, 2), (4, 2), (3, 6)])
def test_rows_in_parts_give_what_all_of_them_together_give(n_classes, width, monkeypatch):
    run = run_prediction(unit_federation({"bank": 3, "fintech": width}, PredictionSettings(), n_classes=n_classes))
    whole = EqualitySolving().run(view_of(run), rng=rng())
    monkeypatch.setattr(equality_solving, "ROWS_AT_ONCE", 7)
    parts = EqualitySolving().run(view_of(run), rng=rng())
    assert (parts.status, parts.why, bool(parts.certificate)) == (whole.status, whole.why, bool(whole.certificate))
    assert np.array_equal(parts.ids, whole.ids)
    assert np.allclose(parts.values, whole.values, rtol=0, atol=1e-12)
    assert parts.evidence == whole.evidence


def test_beyond_the_threshold_projection_never_loses_a_row_and_intervals_hold():
    run = run_prediction(unit_federation({"bank": 3, "fintech": 6}, PredictionSettings()))
    truth = run.truth.of(view_of(run).target).values
    plain, boxed = (attack().run(view_of(run), rng=rng()) for attack in EQUALITY[:2])
    loss = ((boxed.values - truth) ** 2).sum(axis=1) - ((plain.values - truth) ** 2).sum(axis=1)
    assert loss.max() <= 1e-12
    assert (boxed.intervals[:, :, 0] <= truth + 1e-9).all()
    assert (truth <= boxed.intervals[:, :, 1] + 1e-9).all()
    assert (boxed.intervals[:, :, 1] - boxed.intervals[:, :, 0]).mean() < 0.97


@pytest.mark.parametrize("attack", EQUALITY, ids=lambda a: a.name)
def test_a_label_alone_gives_no_equation(attack):
    defense = TopLabel()
    run = run_prediction(unit_federation({"bank": 3, "fintech": 2}, PredictionSettings()), defense=defense)
    guess = attack().run(view_of(run, defense=defense), rng=rng())
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert np.isfinite(guess.values).all()


def test_rounding_hurts_the_pseudo_inverse_more_than_those_that_know_of_it():
    defense = Rounding(digits=1)
    run = run_prediction(unit_federation({"bank": 3, "fintech": 2}, PredictionSettings()), defense=defense)
    plain, _, bayes = (
        squared_error(attack().run(view_of(run, defense=defense), rng=rng()), run) for attack in EQUALITY
    )
    assert bayes < plain
    assert bayes < 0.12  # uniform columns: the constant 0.5 has 1/12


@pytest.mark.parametrize("pick", list(Pick))
def test_the_true_path_is_always_among_the_candidates(pick):
    run = run_prediction(unit_federation({"bank": 2, "fintech": 3}, PredictionSettings(model="tree")))
    guess = PathRestriction(pick).run(view_of(run, kind=SecretKind.RANGES), rng=rng())
    truth = run.truth.of(guess.secret).values
    assert guess.evidence["rows without a path"] == 0
    assert (guess.intervals[:, :, 0] <= truth).all()
    assert (truth <= guess.intervals[:, :, 1]).all()
    assert (guess.intervals[:, :, 1] - guess.intervals[:, :, 0]).mean() < 1


@pytest.mark.parametrize("model", ["logistic", "forest", "tree"])
def test_a_label_alone_still_tells_the_posterior_something(model):
    settings = PredictionSettings(model=model, prediction_share=0.5)
    federation = unit_federation({"bank": 1, "fintech": 2}, settings, n_classes=4, n_rows=600)
    run = run_prediction(federation, defense=TopLabel())
    guess = PosteriorInference().run(view_of(run, defense=TopLabel()), rng=np.random.default_rng(0))
    constant = np.var(run.truth.of(guess.secret).values, axis=0).mean()
    assert guess.status is Status.PARTIAL
    assert squared_error(guess, run) < 0.9 * constant


def test_a_forest_s_votes_tell_the_posterior_something():
    settings = PredictionSettings(model="forest", n_trees=50, forest_depth=4)
    run = run_prediction(unit_federation({"bank": 3, "fintech": 2}, settings, n_rows=600))
    guess = PosteriorInference().run(view_of(run), rng=rng())
    assert squared_error(guess, run) < 0.95 / 12


def test_counts_of_a_forest_place_skewed_columns():
    """Without counts, hidden columns are taken to be like own ones; here they are not."""
    settings = PredictionSettings(model="forest", n_trees=30, forest_depth=4)
    federation = unit_federation({"bank": 3, "fintech": 2}, settings, n_rows=800)
    bank, fintech = federation.parties
    skewed = replace(fintech, train=replace(fintech.train, features=fintech.train.features**4))
    first = run_prediction(replace(federation, parties=(bank, skewed)))
    forest = interpret(first.truth.served.model)
    without = replace(forest, trees=tuple(replace(tree, counts=None) for tree in forest.trees))
    errors = []
    for model in (forest, without):
        run = run_prediction(replace(federation, parties=(bank, skewed)), model=model)
        errors.append(squared_error(PosteriorInference().run(view_of(run), rng=rng()), run))
    assert errors[0] < 0.8 * errors[1]


def test_a_network_is_inverted_where_one_column_is_unknown():
    pytest.importorskip("torch")
    settings = PredictionSettings(model="network", hidden=(16, 8), epochs=30)
    run = run_prediction(unit_federation({"bank": 3, "fintech": 1}, settings, n_rows=300))
    guess = PosteriorInference().run(view_of(run), rng=rng())
    assert squared_error(guess, run) < 0.5 / 12


def test_slopes_of_a_network_are_its_derivatives():
    generator = np.random.default_rng(1)
    widths = (4, 6, 5, 3)
    model = NetworkModel(
        tuple("abcd"),
        tuple(generator.normal(size=(out, into)) for into, out in pairwise(widths)),
        tuple(generator.normal(size=out) for out in widths[1:]),
    )
    rows, columns = generator.random((7, 4)), np.array([3, 1])
    scores, slopes = score_slopes(model, rows, columns)
    np.testing.assert_allclose(scores, model.scores(rows))
    for index, column in enumerate(columns):
        step = np.zeros(4)
        step[column] = 1e-6
        numeric = (model.scores(rows + step) - model.scores(rows - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, :, index], numeric, rtol=1e-5, atol=1e-5)


def test_the_generator_lowers_its_loss_on_the_view_and_stays_in_the_box():
    pytest.importorskip("torch")
    run = run_prediction(unit_federation({"bank": 3, "fintech": 1}, PredictionSettings(l2=1e-4)))
    losses = []
    for epochs in (1, 40):
        options = GeneratorOptions(hidden=(32, 16), epochs=epochs, learning_rate=1e-3)
        guess = GenerativeRegressionNetwork(options).run(view_of(run), rng=rng())
        losses.append(guess.evidence["loss a row on the view"])
        assert guess.values.min() >= 0
        assert guess.values.max() <= 1
    assert losses[1] < losses[0]


def test_an_answer_says_how_much_it_hangs_on_its_noise():
    pytest.importorskip("torch")
    run = run_prediction(unit_federation({"bank": 3, "fintech": 2}, PredictionSettings(l2=1e-4)))
    variances = {}
    for noise, own in ((True, True), (False, True), (True, False)):
        options = GeneratorOptions(hidden=(16,), epochs=1, noise_input=noise, own_input=own)
        guess = GenerativeRegressionNetwork(options).run(view_of(run), rng=rng())
        variances[noise, own] = guess.evidence[NOISE_VARIANCE]
    assert variances[False, True] == 0
    assert 0 < variances[True, True] < variances[True, False] < 1 / 12


def test_withheld_rows_are_left_out_and_not_guessed():
    from fedleak.defenses.leak_check import LeakCheck

    defense = LeakCheck(width=0.5, share=0.4)
    run = run_prediction(unit_federation({"bank": 3, "fintech": 4}, PredictionSettings()), defense=defense)
    released = run.utility["released_share"]
    assert 0 < released < 1
    guess = EqualityBayes().run(view_of(run, defense=defense), rng=rng())
    assert len(guess.ids) == round(released * len(run.truth.of(guess.secret).ids))


@pytest.mark.parametrize(("bias", "status"), [(0.0, Status.RECOVERED), (30.0, Status.PARTIAL)])
def test_confidences_next_to_one_hold_no_digits_of_a_cell(bias, status):
    """Two equations for two unknowns: one solution on paper, but 1 - v is down to its last bits."""
    federation = unit_federation({"bank": 3, "fintech": 2}, PredictionSettings())
    columns = tuple(name for party in federation.parties for name in party.columns)
    weights = np.random.default_rng(5).normal(size=(2, 5))
    run = run_prediction(federation, model=LinearModel(columns, weights, np.full(2, bias), Link.SIGMOID_EACH))
    for attack in (EqualityProjection(), EqualityBayes()):
        guess = attack.run(view_of(run), rng=rng())
        truth = run.truth.of(guess.secret).values
        assert guess.status is status
        assert guess.intervals is not None
        assert ((guess.intervals[:, :, 0] <= truth) & (truth <= guess.intervals[:, :, 1])).all()


@pytest.mark.parametrize(
    "defense",
    [Rounding(digits=1), Rounding(digits=1, mode="nearest"), Rounding(digits=5), ConfidenceNoise(sigma=1e-3)],
    ids=str,
)
@pytest.mark.parametrize("link", [Link.SOFTMAX, Link.SIGMOID_EACH])
def test_intervals_hold_the_truth_whatever_was_declared_to_be_on_the_confidences(defense, link):
    federation = unit_federation({"bank": 3, "fintech": 2}, PredictionSettings())
    columns = tuple(name for party in federation.parties for name in party.columns)
    weights = 6.0 * np.random.default_rng(8).normal(size=(3, 5))  # some confidences are next to 0, some next to 1
    run = run_prediction(federation, model=LinearModel(columns, weights, np.zeros(3), link), defense=defense)
    for attack in (EqualityProjection(), EqualityBayes()):
        guess = attack.run(view_of(run, defense=defense), rng=rng())
        truth = run.truth.of(guess.secret).values
        assert guess.intervals is not None
        assert ((guess.intervals[:, :, 0] <= truth) & (truth <= guess.intervals[:, :, 1])).all()


def test_a_confidence_that_rounding_hides_bounds_its_score(monkeypatch):
    """Answers of one pass may put hidden classes high above what two digits would have shown."""
    federation = unit_federation({"bank": 2, "fintech": 4}, PredictionSettings())
    columns = tuple(name for party in federation.parties for name in party.columns)
    weights = 8.0 * np.random.default_rng(4).normal(size=(7, 6))
    defense = Rounding(digits=2)
    run = run_prediction(federation, model=LinearModel(columns, weights, np.zeros(7)), defense=defense)
    case = read_case(view_of(run, defense=defense))
    hidden = case.confidences == 0
    above = {}
    for passes in (1, equality_bayes.N_BOUND_PASSES):
        monkeypatch.setattr(equality_bayes, "N_BOUND_PASSES", passes)
        _, solved = equality_bayes.fill_from_prior(case)
        predicted = case.model.confidences(case.inputs(solved.values))
        above[passes] = float((predicted[hidden] > 0.02).mean())
    assert above[1] > 0.01
    assert above[4] < 0.7 * above[1]
