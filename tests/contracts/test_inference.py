"""What is inferred from a transcript is what the protocol declares to reveal."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from harness import ATTACK_NAMES, situation

import horizontal
from boosted_runs import boosted
from federations import run, sealed, sealed_arbiter, vertical
from fedleak.core.adversary import Capability
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Captured, Run
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.averaging.horizontal_linear import HorizontalLinearSettings
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.captured.holdings import holdings_of
from fedleak.protocols.captured.inference import RULES, inferred
from fedleak.protocols.prediction.served_model import PredictionSettings
from network_runs import cut_pictures, cut_table, row_clients, split
from prediction_runs import run_prediction, unit_federation

OF_KNOWLEDGE = {Capability.KNOWN_CELLS, Capability.KNOWN_LABELS, Capability.PUBLIC_SAMPLE}


def check_every_coalition(federation: Federation, result: Run) -> None:
    clients = {client for service in result.services.values() for client in service.clients}
    holdings = holdings_of(Captured(result.transcript, result.locals), clients)
    facts, protocol = result.transcript.facts, PROTOCOLS.get(federation.protocol)
    names = [party.name for party in facts.parties]
    for coalition in (chosen for size in range(1, len(names)) for chosen in combinations(names, size)):
        declared = protocol.reveals(federation.settings, facts.parties, coalition)
        assert inferred(holdings, facts, coalition) == declared, coalition


def test_every_capability_of_a_run_has_a_rule():
    assert sorted(rule.capability for rule in RULES) == sorted(set(Capability) - OF_KNOWLEDGE)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_in_every_control(name: str):
    played = situation(name).played
    check_every_coalition(played.federation, played.run)


VERTICAL = [
    sealed(epochs=1, approximation=approximation, gradients=gradients)
    for approximation in ("taylor", "cubic", "piecewise")
    for gradients in ("revealed", "secret-shared")
]


@pytest.mark.parametrize("settings", VERTICAL, ids=lambda s: f"{s.approximation}, {s.gradients}")
def test_vertical_logistic(settings):
    federation = vertical({"bank": 3, "fintech": 4}, settings)
    check_every_coalition(federation, run(federation))


@pytest.mark.parametrize("service", [True, False])
@pytest.mark.parametrize("loss", [True, False])
def test_with_an_arbiter(service, loss):
    settings = sealed_arbiter(epochs=1, loss=loss, prediction_service=service)
    federation = vertical({"bank": 3, "fintech": 4, "referee": 0}, settings, protocol="vertical-logistic-arbiter")
    check_every_coalition(federation, run(federation))


@pytest.mark.parametrize("masked", [True, False])
def test_averaged_models(masked):
    rows = {name: horizontal.binary(6, 3, i) for i, name in enumerate(("clinic", "hospital"))}
    settings = HorizontalLinearSettings(rounds=2, secure_aggregation=masked)
    federation = replace(horizontal.federation(rows, settings), protocol="horizontal-linear")
    check_every_coalition(federation, run(federation))


@pytest.mark.parametrize("recovery", [0, 2])
def test_summed_updates(recovery):
    rows = {name: horizontal.binary(6, 3, i) for i, name in enumerate(("clinic", "hospital", "lab"))}
    federation = horizontal.federation(
        rows, HorizontalLogisticSettings(rounds=2, recovery_threshold=recovery, colluders=0)
    )
    check_every_coalition(federation, run(federation))


@pytest.mark.parametrize(
    ("model", "reveal"),
    [*((m, r) for m in ("logistic", "tree", "forest") for r in ("model", "nothing")), ("logistic", "contributions")],
)
@pytest.mark.parametrize("output", ["one-hot", "fractions"])
def test_predictions(model, reveal, output):
    settings = PredictionSettings(model=model, reveal=reveal, tree_output=output, n_trees=3)
    federation = unit_federation({"bank": 2, "fintech": 2}, settings)
    check_every_coalition(federation, run_prediction(federation))


@pytest.mark.parametrize(
    "changes", [{}, {"enrolled_records": True}, {"first_tree_alone": True}, {"first_tree_alone": True, "n_trees": 1}]
)
def test_boosted_trees(changes):
    federation = boosted({"bank": 2, "fintech": 3, "shop": 3}, **changes)
    check_every_coalition(federation, run(federation))


CUT = [cut_table(), cut_pictures(), cut_table({"bank": 0, "fintech": 2, "shop": 3})]


@pytest.mark.parametrize("federation", [*CUT, *map(split, CUT)], ids=lambda f: f"{f.protocol}, {len(f.parties)}")
def test_cut_networks(federation):
    check_every_coalition(federation, run(federation))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("update", ["gradient", "change"])
def test_networks_of_rows(known, update):
    federation = row_clients(known_batches=known, update=update)
    check_every_coalition(federation, run(federation))
