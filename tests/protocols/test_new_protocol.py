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
from fedleak.core.finding import Finding, Mode, Outcome, Theory
from fedleak.core.registry import Entry, Registry
from fedleak.core.report import Report
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols import PROTOCOLS, vocabularies
from fedleak.report import html, json_format
from fedleak.storage import load_view, save_view
from fedleak.storage.capture_and_truth import DiskSink, load_capture, load_truth, save_truth
from fedleak.storage.view_and_guess import guess_from_bytes, guess_to_bytes
from fedleak.trial.decide import Question, decide
from fedleak.trial.play import play
from fedleak.trial.progress import Progress
from scenarios import KEY
from toy_protocol.shifted_sharing import Blur, ShiftedSharing, ToySettings
from toy_protocol.subtraction import PictureSubtraction, SplitSubtraction, Subtraction
from toy_protocol.vocabulary import VOCABULARY, ToyFacts

PARTNER = "north, south"
TOY_ATTACKS = (Subtraction, SplitSubtraction, PictureSubtraction)
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
    """The toy and its attacks in the lists, for one test."""
    _list(monkeypatch, PROTOCOLS, Entry("toy-shift", "toy_protocol.shifted_sharing:ShiftedSharing"))
    places = {attack.name: f"toy_protocol.subtraction:{attack.__name__}" for attack in TOY_ATTACKS}
    _list(monkeypatch, ATTACKS, *(Entry(name, place) for name, place in places.items()))


def _list(monkeypatch, registry: Registry, *entries: Entry) -> None:
    longer = Registry(registry.what, (*registry.entries, *entries))
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
@pytest.mark.parametrize("attack", TOY_ATTACKS, ids=lambda attack: attack.produces.value)
def test_a_run_is_played_attacked_and_decided(attack):
    victim = Secret(attack.produces, PARTNER)
    played = play(toy_federation(), Randomness.published(1))
    attempt = played.attempt(attack, ("bank",), victim)
    assert attempt.isolated, "the facts go to the attack's process, which knows the vocabulary alone"
    truth = played.run.truth.of(victim)
    order = [attempt.guess.ids.tolist().index(row) for row in truth.ids.tolist()]
    np.testing.assert_allclose(attempt.guess.values[order], truth.values, atol=1e-12)
    found = decide(Question(("bank",), Mode.PASSIVE, attack.name, victim, None, Theory("exact", ())), [attempt])
    assert (found.outcome, found.cells_recovered) == (Outcome.LEAK, 1.0)


def test_its_secrets_are_a_table_nodes_and_pictures():
    truth = play(toy_federation(n_splits=3), Randomness.published(1), protocol=ShiftedSharing()).run.truth
    nodes, pictures = (truth.of(Secret(kind, PARTNER)) for kind in (SecretKind.THRESHOLDS, SecretKind.IMAGES))
    assert nodes.ids.tolist() == [[tree, node] for tree in (0, 1) for node in (0, 1, 2)]
    assert nodes.columns == ("point",)
    assert pictures.values.shape == (truth.of(VICTIM).values.shape[0], 2, 2)
    assert pictures.columns == ()


@pytest.mark.usefixtures("listed")
def test_a_silent_party_is_told_by_its_whole_name():
    played = play(toy_federation(silent=(PARTNER,)), Randomness.published(1))
    result = played.attempt(Subtraction, ("bank",), VICTIM).result
    assert result.skipped
    assert result.why == "north, south sent nothing"
    assert played.attempt(Subtraction, ("bank",), Secret(SecretKind.FEATURES, "shop")).guess.values.any()


@pytest.mark.usefixtures("listed")
def test_an_audit_reports_it(tmp_path):
    scenario = replace(parse_scenario(SCENARIO), defenses=(Blur(sigma=400.0, parties=(PARTNER,)),))
    counting = Counting()
    work = Audit(scenario, plan_audit(scenario), lambda name: DiskSink(tmp_path / name), counting, run_key=KEY)
    work.run()
    report = work.report()
    found = {(finding.attack, finding.defense): finding for finding in report.findings}
    label = "toy-blur(sigma=400.0, parties=('north, south',))"
    assert {key: finding.outcome for key, finding in found.items() if key[0].startswith("toy-")} == {
        ("toy-subtraction", None): Outcome.LEAK,
        ("toy-subtraction", label): Outcome.NO_LEAK,
        **{(attack.name, under): Outcome.LEAK for attack in TOY_ATTACKS[1:] for under in (None, label)},
    }
    assert found["toy-subtraction", None].theory.verdict == "exact"
    assert counting.done == 2 + 2 * len(TOY_ATTACKS), "a round a run, and an attempt each"
    assert_shown(report, found)
    stored = {path.name: load_capture(path).transcript.facts for path in tmp_path.iterdir()}
    assert {facts.defense for facts in stored.values()} == {None, label}
    assert {facts.of(ToyFacts).blur for facts in stored.values()} == {None, 400.0}


def assert_shown(report: Report, found: dict[tuple[str, str | None], Finding]) -> None:
    """A table column by column, split points as one column of nodes, whole pictures; in JSON and on the page."""
    table, nodes, pictures = (found[attack.name, None] for attack in TOY_ATTACKS)
    assert [len(table.columns), len(nodes.columns), len(pictures.columns)] == [5, 1, 0]
    assert (nodes.columns[0].column, nodes.columns[0].n) == ("point", 10)
    assert pictures.exhibit.true.shape[1:] == (5, 5)
    again = json_format.loads(json_format.dumps(report))
    assert json_format.dumps(again) == json_format.dumps(report)
    assert {Secret(attack.produces, PARTNER) for attack in TOY_ATTACKS} <= {one.secret for one in again.findings}
    page = html.render(report)
    assert html.render(again) == page
    assert page.count('<image class="pixels"') == 2 * 2 * len(pictures.exhibit.true), "true above guessed, twice"
    for words in ("north, south&#39;s split points", "north, south&#39;s images"):
        assert words in page


@pytest.mark.usefixtures("listed")
def test_theory_needs_no_data():
    (planned,) = plan_check(parse_scenario(SCENARIO))
    (task,) = [task for task in planned.tasks if task.attack is Subtraction]
    assert task.prediction.reasons == ("silent: (); no noise",)


@pytest.mark.usefixtures("listed")
def test_it_goes_to_disk_and_back(tmp_path):
    played = play(toy_federation(silent=(PARTNER,)), Randomness.published(1), sink=DiskSink(tmp_path / "run"))
    assert played.facts.own == ToyFacts(offset=5.0, silent=(PARTNER,), n_splits=2)
    view = played.view(("bank",), VICTIM)
    save_view(view, tmp_path / "view")
    assert load_view(tmp_path / "view").facts == view.facts


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize("attack", TOY_ATTACKS, ids=lambda attack: attack.produces.value)
def test_attacks_say_the_same_of_what_was_on_disk(attack, tmp_path):
    target = Secret(attack.produces, PARTNER)
    played = play(toy_federation(), Randomness.published(1), sink=DiskSink(tmp_path / "run"))
    save_view(played.view(("bank",), target), tmp_path / "view")
    guess = attack().run(load_view(tmp_path / "view"), rng=np.random.default_rng(0))
    assert guess_to_bytes(guess) == guess_to_bytes(played.attempt(attack, ("bank",), target).guess)
    assert guess_to_bytes(guess_from_bytes(guess_to_bytes(guess))) == guess_to_bytes(guess)
    save_truth(played.run.truth, tmp_path / "truth")
    kept, was = load_truth(tmp_path / "truth").of(target), played.run.truth.of(target)
    assert (kept.columns, kept.ids.tolist()) == (was.columns, was.ids.tolist())
    assert np.array_equal(kept.values, was.values)


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
