"""Questions that were asked while a run was captured name a partner's weights; others have no answer."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.predictions.prediction_queries import PredictionQueries
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import OracleError
from fedleak.core.payload import Array
from fedleak.core.whole.run import Run
from fedleak.core.whole.truth import Truth
from fedleak.protocols.captured.asked_rows import asked_services
from fedleak.protocols.captured.captured import opened
from fedleak.protocols.captured.inference import inferred
from fedleak.recorder import Recorder

WEIGHTS = np.array([0.5, -2.0])
ASKED = np.vstack([np.zeros((1, 2)), np.eye(2)])
TARGET = Secret(SecretKind.WEIGHTS, "fintech")


def captured(folder, *, asked=True):
    with Recorder(folder, {"bank": "active", "fintech": "passive"}, family="vertical-arbiter") as recorder:
        recorder.record("fintech", "features", np.eye(2), ids=np.arange(2), columns=("a", "b"))
        recorder.record("bank", "labels", np.array([[0.0], [1.0]]), ids=np.arange(2))
        recorder.message("predict.partial-score", "fintech", "bank", ASKED @ WEIGHTS + 0.25, round=0)
        if asked:
            recorder.record("bank", "asked-of-fintech", ASKED, step="predict.partial-score")
    return opened(str(folder))


def view_of(found, coalition):
    run = Run(found.captured.transcript, found.captured.locals, Truth({}), services=asked_services(found.captured))
    return run.view(coalition, TARGET, found.captured.transcript.facts)


def test_weights_are_stolen_by_as_many_questions_and_one_more(tmp_path):
    found = captured(tmp_path / "capture")
    guess = PredictionQueries().run(view_of(found, ("bank",)), rng=np.random.default_rng(0))
    assert guess.status is Status.RECOVERED
    assert guess.values[:, 0].tolist() == pytest.approx(WEIGHTS.tolist())
    assert guess.evidence["queries"] == 3


def test_who_asked_has_a_service_and_nobody_else(tmp_path):
    found = captured(tmp_path / "capture")
    facts = found.captured.transcript.facts
    assert Capability.PREDICTION_SERVICE in inferred(found.holdings, facts, ("bank",))
    assert Capability.PREDICTION_SERVICE not in inferred(found.holdings, facts, ("fintech",))
    assert not view_of(found, ("fintech",)).oracles


def test_rows_that_were_not_asked_about_have_no_answer(tmp_path):
    oracle = view_of(captured(tmp_path / "capture"), ("bank",)).oracles["partial-score:fintech"]
    assert oracle.query(Array(np.eye(2))).messages[0].payload.values.tolist() == [0.75, -1.75]
    with pytest.raises(OracleError, match="rows that were asked about in the captured run"):
        oracle.query(Array(np.full((1, 2), 0.5)))


def test_scores_without_the_rows_are_no_service(tmp_path):
    assert asked_services(captured(tmp_path / "capture", asked=False).captured) == {}
