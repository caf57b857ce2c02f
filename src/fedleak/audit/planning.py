"""From a scenario to a plan: the two ways in, with data and without."""

from __future__ import annotations

from fedleak.audit.build import build_federation, sketch_facts, sketch_federation
from fedleak.audit.knowledge_draw import draw_knowledge
from fedleak.audit.planner import PlannedRun, plan
from fedleak.audit.randomness import stream
from fedleak.audit.scenario import Scenario
from fedleak.core.errors import ScenarioError


def plan_audit(scenario: Scenario) -> tuple[PlannedRun, ...]:
    """Load the data and plan all runs."""
    federation = build_federation(scenario)
    n_rows = max(len(party.train.ids) for party in federation.parties)
    batch_size = getattr(scenario.settings, "batch_size", None)
    if batch_size is not None and batch_size > n_rows:
        raise ScenarioError(f"federation.batch_size must be at most the {n_rows} training rows; got {batch_size}")
    for adversary in scenario.adversaries:
        # Drawn once now, so that a declaration that the data cannot meet is told before anything runs.
        draw_knowledge(adversary.knowledge, federation, adversary.parties, stream(scenario.seed, "knowledge"))
    parties = tuple(party.facts for party in federation.parties)
    return plan(federation, scenario.adversaries, scenario.defenses, parties=parties, n_rows=n_rows)


def plan_check(scenario: Scenario) -> tuple[PlannedRun, ...]:
    """Plan without data: what the scenario declares has to do."""
    return plan(
        sketch_federation(scenario),
        scenario.adversaries,
        scenario.defenses,
        parties=sketch_facts(scenario),
        n_rows=scenario.partition.train_rows,
    )
