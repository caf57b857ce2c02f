"""What is public of a run is built once: the plan, the view and the transcript on disk hold the same."""

from __future__ import annotations

import hostile
import pytest

from federations import sealed, vertical
from fedleak.auditing.planner import plan
from fedleak.auditing.scenario import AdversarySpec
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.attack import Guess
from fedleak.core.knowledge import Knowledge, PublicSample
from fedleak.core.payload import Table
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses import DEFENSES
from fedleak.defenses.inexact_sharing import DpPaillier, GaussianNoise
from fedleak.protocols import PROTOCOLS, vocabulary_modules
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.storage.capture_and_truth import DiskSink, load_capture
from fedleak.trial.attempt import Failure
from fedleak.trial.play import play

FEDERATION = vertical({"fintech": 8, "bank": 3}, sealed(epochs=1))  # the active party is not the first
LABELS = Secret(SecretKind.LABELS, "bank")
TRAINED = play(FEDERATION, Randomness.published(1))


@pytest.mark.parametrize("defense", [None, GaussianNoise(sigma=3.0, parties=("bank",)), DpPaillier()])
def test_plan_view_and_disk_hold_the_same(defense, tmp_path):
    *_, planned = plan(
        FEDERATION,
        (AdversarySpec(parties=("fintech",)),),
        (defense,) if defense else (),
        parties=FEDERATION.party_facts,
        n_rows=FEDERATION.n_rows,
    )
    played = play(FEDERATION, Randomness.published(1), defense=defense, sink=DiskSink(tmp_path / "run"))
    stored = load_capture(tmp_path / "run").transcript.facts
    assert stored == played.facts
    assert planned.tasks[0].facts == played.view(("fintech",), LABELS).facts
    assert stored.seen_by(("fintech",), planned.tasks[0].capabilities) == planned.tasks[0].facts


def test_a_defended_transcript_on_disk_declares_its_defense(tmp_path):
    play(FEDERATION, Randomness.published(1), defense=DpPaillier(epsilon=0.7), sink=DiskSink(tmp_path / "run"))
    stored = load_capture(tmp_path / "run").transcript.facts
    assert stored.defense == "dp-paillier(epsilon=0.7)"
    assert stored.of(LinearFacts).epsilon == 0.7
    assert stored.score_noise > 0
    play(FEDERATION, Randomness.published(1), sink=DiskSink(tmp_path / "bare"))
    assert load_capture(tmp_path / "bare").transcript.facts.defense is None


@pytest.mark.parametrize("kind", list(DEFENSES), ids=lambda plugin: plugin.name)
def test_whoever_declares_a_defense_names_it(kind):
    defense = kind()
    fitting = [protocol for protocol in PROTOCOLS if not protocol.replays and protocol.misfit(defense) is None]
    for protocol in fitting:
        federation = vertical({"bank": 3, "fintech": 2}, protocol.settings_type(), protocol=protocol.name)
        configured = defense.configure(federation)
        facts = protocol.public_facts(configured, defense, parties=federation.party_facts, n_rows=None)
        assert facts.defense == defense.label
        assert type(facts.own) is type(protocol.facts(configured.settings, federation.party_facts, None).own)
    assert fitting


def test_a_setting_of_the_same_name_without_the_value_does_not_fit():
    network = PROTOCOLS.get("horizontal-network")
    assert network.misfit(DEFENSES.get("large-initialisation")()).startswith(
        "large-initialisation needs initialisation = 'normal', which horizontal-network does not have"
    )
    assert PROTOCOLS.get("vertical-logistic").misfit(DEFENSES.get("large-initialisation")()) is None


def test_what_is_known_beforehand_is_among_the_capabilities():
    played = play(FEDERATION, Randomness.published(1))
    rows = FEDERATION.party("bank").train
    sample = PublicSample("bank", Table(FEDERATION.party("bank").columns, rows.ids[:2], rows.features[:2]))
    knowing = played.view(("fintech",), LABELS, Knowledge(samples=(sample,))).facts.capabilities
    assert knowing - played.view(("fintech",), LABELS).facts.capabilities == {Capability.PUBLIC_SAMPLE}


def imported(module: str) -> Guess | Failure:
    """By an attack, in the process in which it runs."""
    return TRAINED.attempt(hostile.Imports(module), ("fintech",), LABELS, scores=False).result


@pytest.mark.parametrize("module", ["fedleak.protocols", "fedleak.protocols.linear", *vocabulary_modules()])
def test_an_attack_may_know_the_words_of_protocols(module):
    assert imported(module).why == module


@pytest.mark.parametrize(
    "module",
    [
        "fedleak.protocols.actor",
        "fedleak.protocols.linear.vertical_logistic",
        "fedleak.protocols.linear.linear_settings",
        "fedleak.core.whole.protocol",
    ],
)
def test_it_may_not_know_how_they_run(module):
    assert f"may not import {module}" in imported(module).why
