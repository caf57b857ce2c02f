"""The audit of a run that took place elsewhere: one passive adversary for each party and for each coalition that is
named, and every attack that applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.auditing.planner import PlannedRun, plan
from fedleak.auditing.scenario import AdversarySpec, PartitionSpec, PartySpec, Scenario
from fedleak.core.errors import InputError, nearest_or_list
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.data.spec import DataSpec
from fedleak.protocols.captured.captured import CapturedRun, CapturedSettings, opened
from fedleak.protocols.captured.truth_file import read_truth


@dataclass(frozen=True, eq=False)
class CapturedPlan:
    scenario: Scenario
    runs: tuple[PlannedRun, ...]
    left_out: tuple[str, ...]  # attacks that nobody has what they need for


def plan_captured(
    transcript: Path,
    truth: Path | None = None,
    attacks: Sequence[str] = (),
    coalitions: Sequence[tuple[str, ...]] = (),
) -> CapturedPlan:
    """``attacks``: only these; an attack that is named is reported even where it cannot be tried."""
    settings = CapturedSettings(str(transcript), "" if truth is None else str(truth))
    captured = opened(settings.transcript).captured
    if truth is not None:
        read_truth(truth, captured)  # now, so that a wrong one is told before anything runs
    facts = captured.transcript.facts
    _check_coalitions(coalitions, facts)
    who = (*((party.name,) for party in facts.parties), *coalitions)
    scenario = _scenario(settings, facts, who, tuple(ATTACKS.get(name).name for name in attacks))
    federation = Federation(
        CapturedRun.name, tuple(map(_empty, facts.parties)), settings, max_row_norm=facts.max_row_norm
    )
    runs = plan(federation, scenario.adversaries, (), parties=facts.parties, n_rows=facts.n_rows)
    return CapturedPlan(scenario, *((runs, ()) if attacks else _of_use(runs)))


def _check_coalitions(coalitions: Sequence[tuple[str, ...]], facts: Facts) -> None:
    names = [party.name for party in facts.parties]
    for coalition in coalitions:
        unknown = sorted({*coalition} - {*names})
        if unknown or len({*coalition}) != len(coalition) or not 2 <= len(coalition) < len(names):
            raise InputError(
                f"a coalition must be two parties or more of the captured run, and not all of them; got "
                f"{','.join(coalition)}{nearest_or_list(unknown[0], names) if unknown else ''}"
            )


def _scenario(
    settings: CapturedSettings, facts: Facts, who: Sequence[tuple[str, ...]], attacks: tuple[str, ...]
) -> Scenario:
    return Scenario(
        title=f"{Path(settings.transcript).absolute().name}, captured",
        seed=0,
        data=DataSpec(source=settings.truth or "none"),
        protocol=CapturedRun.name,
        settings=settings,
        partition=PartitionSpec(test_share=0.0),
        parties=tuple(PartySpec(name=party.name, role=party.role) for party in facts.parties),
        adversaries=tuple(AdversarySpec(parties=parties, attacks=attacks) for parties in who),
        defenses=(),
    )


def _empty(party: PartyFacts) -> Party:
    """What parties hold is in the transcript, or in the truth, or nowhere."""
    return Party(party.name, party.role, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0))))


def _of_use(runs: tuple[PlannedRun, ...]) -> tuple[tuple[PlannedRun, ...], tuple[str, ...]]:
    """Without the attacks that nobody has what they need for: a transcript is of one protocol, attacks of many."""
    tried = {task.attack for run in runs for task in run.tasks if task.skip is None}
    kept = tuple(replace(run, tasks=tuple(task for task in run.tasks if task.attack in tried)) for run in runs)
    return kept, tuple(attack.name for attack in ATTACKS if attack not in tried)
