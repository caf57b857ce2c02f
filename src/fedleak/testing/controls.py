"""The scenarios that an attack is tried in: the controls that it ships, or a usual one of a protocol that it is for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec, Scenario
from fedleak.auditing.scenario_file import load_scenario, read_scenario
from fedleak.core.adversary import Capability
from fedleak.core.attack import Attack
from fedleak.core.finding import Mode

ENCRYPTED: Mapping[str, object] = {"cipher": "sealed", "learning_rate": 0.1, "batch_size": 6, "epochs": 4}
SERVED: Mapping[str, object] = {"prediction_share": 0.3}
AVERAGED: Mapping[str, object] = {"rounds": 30, "batch_size": 8, "shuffled": ["bank"]}
CLASSES: Mapping[str, object] = {"source": "sklearn:breast_cancer", "scaling": "standard+max-row-norm", "max_rows": 60}
FLOWERS: Mapping[str, object] = {"source": "sklearn:iris", "task": "multiclass", "scaling": "minmax"}
NUMBERS: Mapping[str, object] = {
    "source": "sklearn:diabetes",
    "task": "regression",
    "scaling": "standard",
    "max_rows": 60,
}
# Protocol, its settings, data, and how the bank and the fintech share them.
USUAL = (
    ("vertical-logistic", ENCRYPTED, CLASSES, (18, 12)),
    ("vertical-logistic-arbiter", {**ENCRYPTED, "prediction_service": True}, CLASSES, (18, 12)),
    ("vertical-linear-arbiter", {**ENCRYPTED, "prediction_service": True}, NUMBERS, (6, 4)),
    ("vertical-prediction", {**SERVED, "model": "logistic"}, FLOWERS, (2, 2)),
    ("vertical-prediction", {**SERVED, "model": "tree"}, FLOWERS, (2, 2)),
    ("vertical-prediction", {**SERVED, "model": "forest"}, FLOWERS, (2, 2)),
    ("horizontal-logistic", AVERAGED, CLASSES, (0.6, 0.4)),
    ("horizontal-linear", AVERAGED, NUMBERS, (0.6, 0.4)),
)
HELPERS = {"vertical-logistic-arbiter": "arbiter", "vertical-linear-arbiter": "arbiter"}
HELPERS |= {"horizontal-logistic": "server", "horizontal-linear": "server"}


def shipped_controls(attack: type[Attack]) -> dict[str, Scenario]:
    """The files that the attack names in ``controls``, relative to its module."""
    folder = Path(str(sys.modules[attack.__module__].__file__)).parent
    return {name: load_scenario(folder / name) for name in attack.controls}


def usual_scenario(attack: type[Attack]) -> Scenario:
    """Of the first protocol that gives some party what the attack needs."""
    for protocol, settings, data, shares in USUAL:
        scenario = _usual(protocol, settings, data, shares, attack)
        if any(task.attack is attack and task.skip is None for run in plan_audit(scenario) for task in run.tasks):
            return scenario
    raise AssertionError(
        f"no usual scenario gives {attack.name} what it requires; ship one that it wins and name it in controls"
    )


def _usual(
    protocol: str,
    settings: Mapping[str, object],
    data: Mapping[str, object],
    shares: tuple[float, float],
    attack: type[Attack],
) -> Scenario:
    by_rows = protocol.startswith("horizontal")
    held = "share" if by_rows else "n_columns"
    parties: list[dict[str, object]] = [
        {"name": "bank", "role": "active", held: shares[0]},
        {"name": "fintech", "role": "active" if by_rows else "passive", held: shares[1]},
    ]
    if protocol in HELPERS:
        parties.append({"name": "referee", "role": HELPERS[protocol]})
    raw = {
        "title": f"usual: {protocol}",
        "data": data,
        "federation": {
            "protocol": protocol,
            **settings,
            "partition": {"by": "rows" if by_rows else "ratio"},
            "parties": parties,
        },
        "adversary": [{"parties": [party["name"]]} for party in parties],
    }
    scenario = read_scenario(raw)
    adversaries = tuple(_fitted(adversary, attack) for adversary in scenario.adversaries)
    return replace(scenario, adversaries=adversaries)


def _fitted(adversary: AdversarySpec, attack: type[Attack]) -> AdversarySpec:
    """As dishonest, and knowing as much beforehand, as the attack asks for."""
    knowledge = KnowledgeSpec(
        cells=0.3 if Capability.KNOWN_CELLS in attack.requires else 0.0,
        sample=5 if Capability.PUBLIC_SAMPLE in attack.requires else 0,
        labels=3 if Capability.KNOWN_LABELS in attack.requires else 0,
        ranges=True,
    )
    mode = Mode.PASSIVE if attack.deviation is None else Mode.ACTIVE
    return replace(adversary, attacks=(attack.name,), mode=mode, knowledge=knowledge)
