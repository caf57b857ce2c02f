"""An opaque model is no way to the truth: an attack can ask it, from a saved view as in an audit, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cheaters import DigsInTheOracle
from opaque import SETTINGS, TARGET, attempt_on, opaque

from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.auditing.planner import plan
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import AdversarySpec, PartitionSpec, PartySpec, Scenario
from fedleak.core.errors import NotReplayableError, OracleError
from fedleak.core.finding import Outcome
from fedleak.core.payload import Array, Scalar
from fedleak.core.whole.run import MemorySink
from fedleak.data.spec import DataSpec
from fedleak.models import convert
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.storage import guess_to_bytes, load_view, save_view
from fedleak.trial.attempt import Failure
from fedleak.trial.progress import Silent
from prediction_runs import view_of


def test_the_guess_depends_on_the_answers_and_on_nothing_else():
    played = opaque()
    there, here = (attempt_on(played, PosteriorInference, isolated=apart).guess for apart in (True, False))
    assert guess_to_bytes(there) == guess_to_bytes(here)


def test_a_cheater_that_digs_for_training_rows_is_caught():
    played = opaque()
    stolen = attempt_on(played, DigsInTheOracle, isolated=False).guess
    truth = played.run.truth.of(TARGET)
    assert np.array_equal(stolen.values, truth.values), "the cheater must really have the rows to be worth catching"
    found = attempt_on(played, DigsInTheOracle).result
    assert isinstance(found, Failure)
    assert "has no attribute '_serve'" in found.why


def test_the_view_holds_a_description_and_confidences_alone():
    view = view_of(opaque().run)
    (oracle,) = view.oracles.values()
    spec = next(m.payload for m in view.messages if m.step == "predict.model")
    assert not spec.arrays
    answer = oracle.query(Array(np.full((2, 5), 0.5))).messages[-1].payload.values
    assert answer.shape == (2, 3)
    with pytest.raises(OracleError, match="rows of 5 numbers"):
        oracle.query(Scalar(1))
    assert not view_of(opaque().run, ("fintech",), "bank").oracles


def test_a_stored_view_without_the_object_says_so(tmp_path):
    run = opaque().run
    save_view(view_of(run), tmp_path / "view")
    for view in (load_view(tmp_path / "view"), replace(view_of(run), oracles={})):
        with pytest.raises(NotReplayableError, match="served as an object and is not in the transcript"):
            PosteriorInference().run(view, rng=np.random.default_rng(0))


class WithoutServices(VerticalPrediction):
    """What is left of a run once only its transcript is kept."""

    def run(self, federation, **how):
        return replace(super().run(federation, **how), services={})


def test_in_an_audit_it_is_skipped_with_that_reason():
    federation = opaque().federation
    adversary = AdversarySpec(parties=("bank",), attacks=("posterior-inference",))
    parties = tuple(PartySpec(name=p.name, role=p.role, columns=p.columns) for p in federation.parties)
    scenario = Scenario(
        title="a model of your own",
        seed=0,
        partition=PartitionSpec(test_share=0.0),
        defenses=(),
        data=DataSpec(source="memory"),
        protocol="vertical-prediction",
        settings=SETTINGS,
        parties=parties,
        adversaries=(adversary,),
    )
    planned = plan(federation, (adversary,), (), parties=tuple(p.facts for p in federation.parties), n_rows=40)
    model = convert(
        lambda rows: np.full((len(rows), 3), 1 / 3), tuple(n for p in federation.parties for n in p.columns)
    )
    audit = Audit(scenario, planned, lambda _: MemorySink(), Silent(), protocol=WithoutServices(model))
    audit.run()
    (finding,) = audit.report().findings
    assert finding.outcome is Outcome.SKIPPED
    assert "served as an object and is not in the transcript" in finding.why
