"""What a cheater can do beside the truth it cannot do where attacks run: each works here, and not there."""

from __future__ import annotations

import gc
from contextlib import closing
from dataclasses import replace
from importlib import import_module

import memory_cheaters as cheaters
import numpy as np
import pytest
from cheaters import SearchesTheMemory
from harness import situation
from opaque import TARGET, attempt_on, opaque

from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.oracle import Service
from fedleak.core.payload import digest
from fedleak.core.whole.randomness import Randomness, RunKey
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.metrics.rank_interval import Ranking
from fedleak.storage import guess_to_bytes
from fedleak.testing.surroundings import Surroundings
from fedleak.trial import landlock
from fedleak.trial.attempt import Failure, scored
from fedleak.trial.conversation import AttackFailedError
from fedleak.trial.isolation import Isolation
from fedleak.trial.play import play

NOISE = GaussianNoise(sigma=5.0)


@pytest.fixture(scope="module")
def lost():
    """A defended run: the honest attack is no better than chance there, so a cheater has everything to gain."""
    situation.cache_clear()  # a cheater that searches the memory should find this run's truth, and no other's
    gc.collect()
    return situation("residual-sign", defense=NOISE)


@pytest.mark.parametrize(
    "cheater",
    [
        SearchesTheMemory,
        cheaters.WritesIntoTheKnowledge,
        cheaters.CheatsWhereItWouldLose,
        cheaters.IsBornKnowing,
    ],
)
def test_a_cheater_that_finds_the_truth_in_memory_has_none_there(cheater, lost):
    here, there, honest = lost.attempt(cheater, isolated=False), lost.attempt(cheater), lost.attempt()
    assert here.scores[0].value == 1.0, "the cheater must really cheat to be worth stopping"
    assert honest.scores[0].value < 0.95
    assert guess_to_bytes(there.guess) == guess_to_bytes(honest.guess)
    assert there.scores == honest.scores


def test_what_a_cheater_declares_known_is_not_taken_for_declared(lost):
    assert lost.attempt(cheaters.WritesIntoTheKnowledge, isolated=False).knowledge is lost.knowledge


def test_a_cheater_takes_nothing_along_when_it_is_packed(lost):
    """An attack with parameters goes there as its class and their values; it is not asked how it would like to go."""
    assert cheaters.PacksItsBags().__reduce__()[1][0], "the truth is there for the taking"
    there = lost.attempt(cheaters.PacksItsBags())
    assert guess_to_bytes(there.guess) == guess_to_bytes(lost.attempt().guess)


def test_a_cheater_cannot_ask_about_rows_that_it_does_not_have():
    asked: list[str] = []
    played = watched(opaque(), asked)
    truth = played.run.truth.of(TARGET)
    stolen = attempt_on(played, cheaters.AsksAboutTheVictim, isolated=False).guess
    assert np.array_equal(stolen.values, truth.values)
    asked.clear()
    honest, by_honest = attempt_on(played, PosteriorInference).guess, tuple(asked)
    asked.clear()
    found, by_cheater = attempt_on(played, cheaters.AsksAboutTheVictim).guess, tuple(asked)
    assert guess_to_bytes(found) == guess_to_bytes(honest)
    assert by_honest == by_cheater != ()


def watched(played, asked: list[str]):
    """The same run, with a service that keeps what it was asked."""

    def serve(service: Service, query):
        asked.append(digest(query))
        return service.serve(query)  # the lock is held already

    services = {
        name: replace(service, serve=lambda query, service=service: serve(service, query))
        for name, service in played.run.services.items()
    }
    return replace(played, run=replace(played.run, services=services))


def test_a_cheater_that_replaces_a_metric_does_not_reach_it(lost, monkeypatch):
    monkeypatch.setattr(Ranking, "area", Ranking.area)  # put back afterwards
    there = lost.attempt(cheaters.ReplacesTheMetric)
    assert there.scores == lost.attempt().scores
    assert lost.attempt(cheaters.ReplacesTheMetric, isolated=False).scores[0].value == 1.0


@pytest.mark.parametrize("isolated", [True, False])
def test_an_array_that_answers_for_itself_becomes_a_plain_one(isolated, lost):
    raw = cheaters.AnswersWhenAsked().run(lost.view(), rng=np.random.default_rng(0))
    found = lost.attempt(cheaters.AnswersWhenAsked, isolated=isolated)
    fooled = scored(replace(found, result=raw), lost.played.run.truth, np.random.default_rng(0))
    assert fooled.scores[0].value == 1.0, "the scorer must be fooled by it, or there is nothing to guard against"
    assert type(found.guess.values) is np.ndarray
    assert found.scores == lost.attempt().scores


def test_a_cheater_does_not_find_a_key_behind_its_generator():
    case = situation("residual-sign", defense=GaussianNoise(sigma=5.0))
    coalition, target = case.coalition, case.task.target

    def first_noise(randomness: Randomness) -> tuple[object, float]:
        """What the cheater says, and what is true."""
        played = play(case.played.federation, randomness, defense=GaussianNoise(sigma=5.0))
        told = played.attempt(cheaters.DrawsTheNoiseAgain, coalition, target).guess.evidence
        noise = next(record.value for record in played.run.locals["bank"] if record.name == "noise")
        return told.get("the noise began with"), float(noise.values[0]) / 5.0

    told, true = first_noise(Randomness.published(17))
    assert told == pytest.approx(true), "the cheater must find a key that everybody can compute"
    assert first_noise(Randomness(RunKey.fresh(), 17))[0] is None, "the scenario's seed must not lead to it"


def test_a_cheater_keeps_nothing_for_the_next_attempt(monkeypatch):
    monkeypatch.setattr(cheaters.KeepsWhatItSees, "kept", [])
    case = situation("residual-sign")
    other = replace(case.task.target, owner="fintech")

    def told(coalition, target, *, isolated):
        found = case.played.attempt(cheaters.KeepsWhatItSees, coalition, target, scores=False, isolated=isolated)
        return found.guess.why

    for isolated, second in ((False, "kept: fintech"), (True, "kept: ")):
        cheaters.KeepsWhatItSees.kept.clear()
        assert told(("fintech",), case.task.target, isolated=isolated) == "kept: "
        assert told(("bank",), other, isolated=isolated) == second
        assert told(("fintech",), case.task.target, isolated=True) == "kept: "


def test_what_one_adversary_knows_is_not_there_for_another_in_its_place():
    case = situation("residual-sign")
    played = replace(case.played, _chambers={})  # nobody has been in that place yet
    cells = KnownCells(case.task.target.owner, np.arange(5), np.zeros(5, dtype=np.int64), np.ones(5))
    for knowledge, why in ((Knowledge(cells=(cells,)), "5 cells"), (Knowledge(), "0 cells")):
        found = played.attempt(
            cheaters.KnowsWhatAnotherKnows, case.coalition, case.task.target, knowledge, scores=False
        )
        assert found.guess.why == why


@pytest.mark.parametrize(
    ("cheater", "why"),
    [
        (cheaters.KeepsItInAFile, "an attack may not touch"),
        (cheaters.KeepsItInSharedMemory, "shm_open"),
        (cheaters.KeepsItInANamedPipe, "mkfifo"),
    ],
)
def test_a_cheater_finds_no_place_to_keep_it(cheater, why):
    found = situation("residual-sign").attempt(cheater).result
    assert isinstance(found, Failure)
    assert why in found.why


def test_a_cheater_that_imports_by_name_is_refused():
    """``import_module`` announces no import of the module that it names, so the audit hook does not hear of it."""
    case = situation("residual-sign")
    assert case.attempt(cheaters.ImportsTheTruthByName, isolated=False).guess.why == "SecretValues"
    found = case.attempt(cheaters.ImportsTheTruthByName).result
    assert isinstance(found, Failure)
    assert "an attack may not import fedleak.core.whole" in found.why


def test_a_cheater_that_reads_while_it_is_imported_is_refused(here, monkeypatch):
    case = situation("residual-sign")
    with here.lying_about(case.played.federation):
        monkeypatch.setenv("FEDLEAK_DATA", str(here.folder))
        cheater = import_module("reads_at_import").ReadsAtImport
        assert case.attempt(cheater, isolated=False).guess.values.size, "it read them where nobody refused"
    with pytest.raises(AttackFailedError, match="an attack may not touch"):
        here.guess(cheater, case, case.played.federation)


@pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
def test_a_cheater_that_goes_around_python_is_refused_by_the_kernel(here, monkeypatch):
    case = situation("residual-sign")
    honest = here.guess(ResidualSign, case, case.played.federation)
    with here.lying_about(case.played.federation):
        monkeypatch.chdir(here.folder)
        assert guess_to_bytes(case.attempt(cheaters.GoesAroundPython, isolated=False).guess) != honest
    assert here.guess(cheaters.GoesAroundPython, case, case.played.federation) == honest


@pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
def test_data_that_lie_beside_code_are_refused_too(tmp_path, monkeypatch):
    """Whoever starts an audit in the folder of the data has that folder among those that code comes from."""
    case = situation("residual-sign")
    monkeypatch.syspath_prepend(tmp_path)
    with closing(Isolation(folder=tmp_path)) as isolation:
        beside = Surroundings(tmp_path, isolation)
        honest = beside.guess(ResidualSign, case, case.played.federation)
        assert beside.guess(cheaters.GoesAroundPython, case, case.played.federation) == honest
