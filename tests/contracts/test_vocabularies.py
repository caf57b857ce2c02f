"""What runs send and record is what their family's vocabulary declares, all of it and nothing else."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache

import numpy as np
import pytest

import federations
import horizontal
from boosted_runs import boosted
from federations import sealed, sealed_arbiter, vertical
from fedleak.core.facts import Facts, ProtocolFacts
from fedleak.core.payload import Array
from fedleak.core.vocabulary import Vocabulary
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Run
from fedleak.defenses.inexact_sharing import GaussianNoise, UpdateNoise
from fedleak.defenses.leak_check import LeakCheck
from fedleak.deviations.extra_columns import ClaimedColumns, FakeFeatures
from fedleak.deviations.marked_rows import ReverseSum
from fedleak.deviations.named_strangers import ClaimedIdentifiers
from fedleak.deviations.packed_products import PackedProducts
from fedleak.protocols import PROTOCOLS, vocabularies
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.entity_alignment import AlignmentSettings
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.averaging.horizontal_linear import HorizontalLinearSettings
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.plain_boosting import PlainBoostingSettings
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.prediction import vocabulary as prediction
from fedleak.protocols.prediction.served_model import PredictionSettings
from network_runs import cut_pictures, cut_table, row_clients, split

TWO = {"bank": 3, "fintech": 8}
ARBITERED = {**TWO, "referee": 0}


def ran(federation: Federation, *, defense=None, deviation=None, deviating="fintech") -> tuple[Federation, Run]:
    hooks = defense.hooks(federation) if defense else ()
    hooks += deviation.hooks(deviating) if deviation else ()
    return federation, federations.run(federation, hooks=hooks, defense=defense)


def _summed() -> Federation:
    tables = {name: horizontal.binary(6, 3, i) for i, name in enumerate(("clinic", "hospital", "lab"))}
    return horizontal.federation(
        tables, HorizontalLogisticSettings(rounds=2, recovery_threshold=2, colluders=0, dropouts=("lab:1",))
    )


def _averaged() -> Federation:
    summed = horizontal.federation({"clinic": horizontal.binary(6, 3), "lab": horizontal.binary(6, 3, 1)}, None)
    return Federation("horizontal-linear", summed.parties, HorizontalLinearSettings(rounds=2))


def _served(reveal: str) -> Federation:
    settings = PredictionSettings(unit_box=False, prediction_share=0.5, reveal=reveal)
    return vertical(TWO, settings, protocol="vertical-prediction")


@cache
def runs(words: Vocabulary) -> list[tuple[Federation, Run]]:
    """Of the family, with what defenses and deviations record."""
    if words is linear.VOCABULARY:
        settings = sealed_arbiter(epochs=1, prediction_service=True, validate_every=1)
        arbitered = vertical(ARBITERED, settings, protocol="vertical-logistic-arbiter")
        return [
            ran(vertical(TWO, sealed(epochs=1)), defense=GaussianNoise()),
            ran(vertical(TWO, sealed(epochs=1, gradients="secret-shared"))),
            ran(vertical(TWO, sealed(epochs=1, approximation="piecewise"))),
            ran(vertical(TWO, sealed(epochs=1)), deviation=PackedProducts()),
            ran(vertical({"bank": 3, "fintech": 1}, sealed(epochs=1, batch_size=24)), deviation=PackedProducts()),
            ran(vertical(TWO, sealed(epochs=1)), deviation=ClaimedColumns()),
            ran(arbitered, deviation=FakeFeatures(), deviating="bank"),
        ]
    if words is averaging.VOCABULARY:
        return [ran(_summed(), defense=UpdateNoise()), ran(_averaged())]
    if words is boosting.VOCABULARY:
        held_out = boosted(TWO, enrolled_records=True, n_test=4)
        marked = ran(boosted(TWO), deviation=ReverseSum(key_bits=1024), deviating="bank")
        plain = vertical(TWO, PlainBoostingSettings(n_trees=1, depth=2, bins=4), protocol="plain-boosting")
        return [ran(held_out), ran(held_out.with_settings(prediction="scores")), marked, ran(plain)]
    if words is networks.VOCABULARY:
        clients = [row_clients(), row_clients(update="change", local_steps=2, known_batches=True)]
        return [ran(one) for one in (cut_table(), cut_pictures(trained=True), split(cut_table()), *clients)]
    if words is alignment.VOCABULARY:
        federation = vertical(TWO, AlignmentSettings(identifiers=200), protocol="entity-alignment")
        digests = federation.with_settings(matching="digests")
        return [ran(federation, deviation=ClaimedIdentifiers(guesses=40, identifiers=200)), ran(digests)]
    assert words is prediction.VOCABULARY, "a new family must have its runs here"
    return [ran(_served("model"), defense=LeakCheck()), ran(_served("contributions"))]


def answers(run: Run) -> list:
    """Messages that services send, a query each, as wide as they say."""
    asked = [(service, int(re.findall(r"\d+", service.spec.input)[0])) for service in run.services.values()]
    return [m for service, width in asked for m in service.answer(Array(np.zeros((1, width)))).messages]


def roles(federation: Federation) -> dict:
    computations = (prediction.JOINT_COMPUTATION, boosting.ROUTING_COMPUTATION)
    return {**{party.name: party.role for party in federation.parties}, **dict.fromkeys(computations, "server")}


@pytest.fixture(params=[words for words in vocabularies() if words.facts], ids=lambda words: words.facts[0].kind)
def words(request: pytest.FixtureRequest) -> Vocabulary:
    return request.param


def test_what_is_sent_and_recorded_is_declared(words: Vocabulary) -> None:
    steps = {step.name: step for step in words.steps}
    for federation, run in runs(words):
        who = roles(federation)
        for message in [*run.transcript.messages, *answers(run)]:
            assert who[message.sender] in steps[message.step].roles, message
        for party, records in run.locals.items():
            for record in records:
                assert record.step in steps
                (name,) = [name for name in words.records if name.covers(record.name)]
                assert who[party] in name.roles, record.name
                assert type(record.value) is name.payload, record.name


OF_CAPTURES_ALONE = (linear.ASKED_OF,)  # ours have a service that can be asked instead


def test_what_is_declared_occurs(words: Vocabulary) -> None:
    sent = {m.step for _, run in runs(words) for m in [*run.transcript.messages, *answers(run)]}
    kept = [record for _, run in runs(words) for records in run.locals.values() for record in records]
    assert {step.name for step in words.steps} == sent | {record.step for record in kept}
    silent = [name.name for name in words.records if not any(name.covers(record.name) for record in kept)]
    assert silent == [name.name for name in OF_CAPTURES_ALONE if name in words.records]


def test_rounds_are_marked_by_one_message_each(words: Vocabulary) -> None:
    marks = {step.name for step in words.steps if step.marks_round}
    for _, run in runs(words):
        numbers = [message.round for message in run.transcript.messages if message.step in marks]
        assert numbers == list(range(len(numbers)))
        assert bool(numbers) == bool(marks)


def test_names_are_of_one_family(words: Vocabulary) -> None:
    for protocol in (found for found in PROTOCOLS if not found.replays):  # a capture speaks the words of all
        home = next(found for found in vocabularies() if set(protocol.named_steps) <= set(found.steps))
        assert (home is words) == (protocol.__module__.rpartition(".")[0] in _module_of(words))
    kinds = [kind.kind for found in vocabularies() for kind in found.facts]
    assert len(set(kinds)) == len(kinds)


def _module_of(words: Vocabulary) -> str:
    return next(kind.__module__ for kind in words.facts)


def test_nothing_is_known_by_default(words: Vocabulary) -> None:
    """So that ``facts.of`` has an answer for a protocol of another kind."""
    for kind in words.facts:
        assert issubclass(kind, ProtocolFacts)
        assert all(getattr(kind(), field.name) is None for field in fields(kind))
        assert Facts("somebody else's", ()).of(kind) == kind()


def test_facts_of_a_run_are_of_its_family(words: Vocabulary) -> None:
    for _, run in runs(words):
        assert type(run.transcript.facts.own) in words.facts
