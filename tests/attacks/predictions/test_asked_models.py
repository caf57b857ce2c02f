"""Smooth models that can only be asked: their slopes, the regression behind a service, and all rows inverted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.predictions.asked_scores import AskedScores, extracted_linear, wanted_ratios
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.core.attack import Status
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import Run
from fedleak.defenses.coarse_confidences import Rounding
from fedleak.models import convert
from fedleak.protocols.prediction.served_model import PredictionSettings
from prediction_runs import run_prediction, squared_error, unit_federation, view_of

SETTINGS = PredictionSettings(model="opaque", prediction_share=1.0)
HIDDEN = np.array([3, 4])


def estimators() -> dict[str, object]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "one-vs-rest": OneVsRestClassifier(LogisticRegression(C=10.0)),
        "function": LogisticRegression(C=10.0),
        "tanh": MLPClassifier((12, 8), activation="tanh", max_iter=300, alpha=1e-2, random_state=0),
        "vectors": CalibratedClassifierCV(SVC(), ensemble=False, cv=3),
        "neighbours": KNeighborsClassifier(9),
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    }


def served(kind: str, seed: int = 0, defense: Defense | None = None) -> Run:
    federation = unit_federation({"bank": 3, "fintech": 2}, SETTINGS, n_classes=4, n_rows=150, seed=seed)
    rows = np.hstack([party.train.features for party in federation.parties])
    estimator = estimators()[kind].fit(rows, federation.parties[0].train.labels)  # type: ignore[attr-defined]
    names = tuple(name for party in federation.parties for name in party.columns)
    return run_prediction(federation, model=convert(estimator.predict_proba, names), defense=defense)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["one-vs-rest", "function", "tanh"])
def test_smooth_models_that_can_only_be_asked_give_every_cell_away(kind: str) -> None:
    run = served(kind)
    guess = PosteriorInference().run(view_of(run), rng=np.random.default_rng(0))
    error = np.abs(guess.values - run.truth.of(guess.secret).values)
    assert (error < 0.01).mean() > 0.97
    assert guess.status is Status.PARTIAL  # weights that were fitted to answers promise nothing


def test_support_vectors_give_half_of_the_cells_away() -> None:
    run = served("vectors")
    guess = PosteriorInference().run(view_of(run), rng=np.random.default_rng(0))
    assert (np.abs(guess.values - run.truth.of(guess.secret).values) < 0.01).mean() > 0.5


@pytest.mark.parametrize("kind", ["neighbours", "tree"])
def test_steps_are_not_taken_for_slopes(kind: str) -> None:
    case = read_case(view_of(served(kind)))
    scores = AskedScores.of(case)
    assert not scores.is_smooth(case.inputs(np.full((150, 2), 0.5)), HIDDEN)
    assert extracted_linear(case, np.random.default_rng(0)) is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_only_a_logistic_regression_is_taken_for_one() -> None:
    for kind in ("one-vs-rest", "tanh", "vectors"):
        assert extracted_linear(read_case(view_of(served(kind))), np.random.default_rng(0)) is None
    case = read_case(view_of(served("function")))
    linear = extracted_linear(case, np.random.default_rng(0))
    assert linear is not None
    rows = np.random.default_rng(1).random((50, 5))
    np.testing.assert_allclose(linear.confidences(rows), case.model.confidences(rows), atol=1e-10)


def test_slopes_from_answers_are_derivatives_of_the_log_ratios() -> None:
    case = read_case(view_of(served("function")))
    linear = extracted_linear(case, np.random.default_rng(0))
    assert linear is not None
    at, slopes = AskedScores.of(case).slopes(np.random.default_rng(1).random((20, 5)), HIDDEN)
    expected = (linear.weights[:-1] - linear.weights[1:])[:, HIDDEN]
    np.testing.assert_allclose(slopes, np.broadcast_to(expected, slopes.shape), atol=1e-5)
    assert at.shape == (20, 3)


def test_confidences_below_their_precision_say_next_to_nothing() -> None:
    case = read_case(view_of(served("function")))
    scores = AskedScores.of(case)
    assert not scores.relative
    right, variance = wanted_ratios(case, scores)
    assert np.einsum("nkk->nk", variance).max() < 1e-12
    zeros = case.confidences.copy()
    zeros[:, 0] = 0.0
    assert wanted_ratios(replace(case, confidences=zeros), scores)[1][:, 0, 0].min() > 100
    np.testing.assert_allclose(right[:, 0], np.log(case.confidences[:, 0] / case.confidences[:, 1]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["one-vs-rest", "function", "tanh"])
def test_more_digits_of_a_service_never_hurt(kind: str) -> None:
    errors = []
    for defense in (None, Rounding(digits=3), Rounding(digits=1)):
        run = served(kind, defense=defense)
        guess = PosteriorInference().run(view_of(run, defense=defense), rng=np.random.default_rng(0))
        errors.append(squared_error(guess, run))
    assert errors == sorted(errors)
