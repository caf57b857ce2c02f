"""A protocol of somebody else's: its own folder and an entry in the list take it through all that we do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import vertical
from fedleak.attacks import ATTACKS
from fedleak.auditing.planner import plan_audit, plan_check
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import FileFormatError
from fedleak.core.finding import Mode, Outcome, Theory
from fedleak.core.registry import Entry, Registry
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols import PROTOCOLS, vocabularies
from fedleak.report import html, json_format
from fedleak.storage import load_view, save_view
from fedleak.storage.capture_and_truth import DiskSink, load_capture
from fedleak.trial.decide import Question, decide
from fedleak.trial.play import play
from fedleak.trial.progress import Progress
from scenarios import KEY
from toy_protocol.shifted_sharing import Blur, ShiftedSharing, ToySettings
from toy_protocol.subtraction import Subtraction
from toy_protocol.vocabulary import VOCABULARY, ToyFacts

PARTNER = "north, south"
VICTIM = Secret(SecretKind.FEATURES, PARTNER)
SCENARIO = """
title = "toy"
seed = 3
[data]
source = "sklearn:breast_cancer"
max_rows = 40
[federation]
protocol = "toy-shift"
offset = 2.5
[federation.partition]
by = "ratio"
[[federation.parties]]
name = "bank"
role = "active"
n_columns = 25
[[federation.parties]]
name = "north, south"
role = "passive"
n_columns = 5
[[adversary]]
parties = ["bank"]
"""


@pytest.fixture
def listed(monkeypatch):
    """The toy and its attack in the lists, for one test."""
    _list(monkeypatch, PROTOCOLS, Entry("toy-shift", "toy_protocol.shifted_sharing:ShiftedSharing"))
    _list(monkeypatch, ATTACKS, Entry("toy-subtraction", "toy_protocol.subtraction:Subtraction"))


def _list(monkeypatch, registry: Registry, entry: Entry) -> None:
    longer = Registry(registry.what, (*registry.entries, entry))
    for name, value in vars(longer).items():
        monkeypatch.setattr(registry, name, value)


def toy_federation(**settings):
    return vertical({"bank": 3, PARTNER: 2, "shop": 2}, ToySettings(**settings), protocol="toy-shift")


class Counting(Progress):
    def __init__(self) -> None:
        self.begun, self.done = [], 0

    def begin(self, what: str, total: int | None) -> None:
        self.begun.append(what)

    def advance(self) -> None:
        self.done += 1


@pytest.mark.usefixtures("listed")
def test_its_vocabulary_is_found_beside_it():
    assert VOCABULARY in vocabularies()


def test_its_entry_may_say_where_else_it_is(monkeypatch):
    elsewhere = Entry("elsewhere", "toy_protocol:Nowhere", vocabulary="toy_protocol.vocabulary")
    _list(monkeypatch, PROTOCOLS, elsewhere)
    assert VOCABULARY in vocabularies()


@pytest.mark.usefixtures("listed")
def test_a_run_is_played_attacked_and_decided():
    played = play(toy_federation(), Randomness.published(1))
    attempt = played.attempt(Subtraction, ("bank",), VICTIM)
    assert attempt.isolated, "the facts go to the attack's process, which knows the vocabulary alone"
    np.testing.assert_allclose(attempt.guess.values, played.run.truth.of(VICTIM).values, atol=1e-12)
    question = Question(("bank",), Mode.PASSIVE, Subtraction.name, VICTIM, None, Theory("exact", ()))
    assert decide(question, [attempt]).outcome is Outcome.LEAK


@pytest.mark.usefixtures("listed")
def test_a_silent_party_is_told_by_its_whole_name():
    played = play(toy_federation(silent=(PARTNER,)), Randomness.published(1))
    result = played.attempt(Subtraction, ("bank",), VICTIM).result
    assert result.skipped
    assert result.why == "north, south sent nothing"
    assert played.attempt(Subtraction, ("bank",), Secret(SecretKind.FEATURES, "shop")).guess.values.any()


@pytest.mark.usefixtures("listed")
def test_an_audit_reports_it(tmp_path):
    scenario = replace(parse_scenario(SCENARIO), defenses=(Blur(sigma=4.0, parties=(PARTNER,)),))
    counting = Counting()
    work = Audit(scenario, plan_audit(scenario), lambda name: DiskSink(tmp_path / name), counting, run_key=KEY)
    work.run()
    report = work.report()
    found = {finding.defense: finding for finding in report.findings if finding.attack == "toy-subtraction"}
    label = "toy-blur(sigma=4.0, parties=('north, south',))"
    assert [found[None].outcome, found[label].outcome] == [Outcome.LEAK, Outcome.NO_LEAK]
    assert found[None].theory.verdict == "exact"
    assert counting.done == 2 + len(found), "a round a run, and an attempt each"
    again = json_format.loads(json_format.dumps(report))
    assert VICTIM in {finding.secret for finding in again.findings}
    assert "north, south" in html.render(report)
    stored = {path.name: load_capture(path).transcript.facts for path in tmp_path.iterdir()}
    assert {facts.defense for facts in stored.values()} == {None, label}
    assert {facts.of(ToyFacts).blur for facts in stored.values()} == {None, 4.0}


@pytest.mark.usefixtures("listed")
def test_theory_needs_no_data():
    (planned,) = plan_check(parse_scenario(SCENARIO))
    (task,) = [task for task in planned.tasks if task.attack is Subtraction]
    assert task.prediction.reasons == ("silent: (); no noise",)


@pytest.mark.usefixtures("listed")
def test_it_goes_to_disk_and_back(tmp_path):
    played = play(toy_federation(silent=(PARTNER,)), Randomness.published(1), sink=DiskSink(tmp_path / "run"))
    assert played.facts.own == ToyFacts(offset=5.0, silent=(PARTNER,))
    view = played.view(("bank",), VICTIM)
    save_view(view, tmp_path / "view")
    assert load_view(tmp_path / "view").facts == view.facts


def test_a_file_of_a_protocol_that_is_not_listed_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as meanwhile:
        _list(meanwhile, PROTOCOLS, Entry("toy-shift", "toy_protocol.shifted_sharing:ShiftedSharing"))
        play(toy_federation(), Randomness.published(1), sink=DiskSink(tmp_path / "run"))
    with pytest.raises(FileFormatError, match=r"own.kind must be one of .*; got 'toy-shift'"):
        load_capture(tmp_path / "run")


@pytest.mark.usefixtures("listed")
def test_records_are_as_declared():
    run = play(toy_federation(), Randomness.published(1), protocol=ShiftedSharing()).run
    kept = {record.name for records in run.locals.values() for record in records}
    assert kept == {name.name for name in VOCABULARY.records}
