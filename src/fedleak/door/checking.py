"""Theory alone, without data: which theorems' conditions hold, what each attack is expected to do, what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedleak.auditing.advisor import remedies
from fedleak.auditing.frames import Adversaries, FrameOptions, Parties
from fedleak.auditing.planner import PlannedRun, Task, attacks_for_other_protocols, plan_check
from fedleak.core.adversary import Secret
from fedleak.core.attack import Prediction, Verdict
from fedleak.core.display import Tabular
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.visible_text import one_line
from fedleak.door.given import Defenses, Given, given
from fedleak.theory import THEOREMS
from fedleak.theory.condition import Assessment

if TYPE_CHECKING:
    from fedleak.door.given import Source

SCHEMA_VERSION = 1  # of a check as JSON


@dataclass(frozen=True)
class Assessed:
    """A theorem, for one adversary under one defense."""

    adversary: tuple[str, ...]
    defense: str | None
    assessment: Assessment


@dataclass(frozen=True)
class Expected:
    """An attack, and what theory expects of it; ``skip`` says why it would not be run."""

    adversary: tuple[str, ...]
    defense: str | None
    attack: str
    secret: Secret
    prediction: Prediction
    skip: str | None

    @property
    def verdict(self) -> str:
        return "skipped" if self.skip else self.prediction.verdict.value

    @property
    def reasons(self) -> tuple[str, ...]:
        return (self.skip,) if self.skip else self.prediction.reasons


@dataclass(frozen=True, eq=False)
class Check(Tabular):
    """``repr`` is what theory expects in one line, ``to_frame`` has a row an attack; ``theorems`` are apart."""

    name: str  # the scenario's title
    theorems: tuple[Assessed, ...]
    attacks: tuple[Expected, ...]
    advice: tuple[str, ...]
    for_other_protocols: tuple[str, ...]

    @property
    def title(self) -> str:
        return one_line(self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        return ("adversary", "defense", "attack", "secret", "owner", "expected", "why")

    def rows(self) -> list[dict[str, ScalarValue]]:
        return [dict(zip(self.columns, _cells(attack), strict=True)) for attack in self.attacks]

    def in_words(self) -> str:
        counted = Counter(attack.verdict for attack in self.attacks)
        order = (*(verdict.value for verdict in Verdict), "skipped")
        found = ", ".join(f"{counted[verdict]} {verdict}" for verdict in order if counted[verdict])
        return f"theory expects of {len(self.attacks)} attacks: {found}" if found else "no attack is for this protocol"

    def __repr__(self) -> str:
        return "\n".join([f"<Check of {self.title}: {self.in_words()}>", *(f"  {one_line(a)}" for a in self.advice)])

    def to_json(self) -> dict[str, object]:
        return {
            "schema_version": SCHEMA_VERSION,
            "title": self.name,
            "theorems": [_theorem_json(item) for item in self.theorems],
            "attacks": [_attack_json(item) for item in self.attacks],
            "advice": list(self.advice),
            "for_other_protocols": list(self.for_other_protocols),
        }


def check(
    scenario: Source = None,
    *,
    target: str | None = None,
    parties: Parties | None = None,
    labels: str | None = None,
    protocol: str | None = None,
    adversaries: Adversaries | None = None,
    defenses: Defenses | None = None,
    attacks: Sequence[str] | None = None,
    **settings: object,
) -> Check:
    """What theory says, without running anything; reads no cell of the data. The arguments are those of ``audit``."""
    options = FrameOptions(target, parties, labels, protocol, adversaries, settings)
    return checked(given(scenario, options, defenses, attacks))


def checked(wanted: Given) -> Check:
    scenario = wanted.scenario
    tasks = _tasks(plan_check(scenario))
    return Check(
        name=scenario.title,
        theorems=_assessments(tasks),
        attacks=tuple(
            Expected(task.adversary.parties, defense, task.attack.name, task.target, task.prediction, task.skip)
            for defense, task in tasks
        ),
        advice=remedies([task for _, task in tasks]),
        for_other_protocols=attacks_for_other_protocols(scenario.protocol, scenario.adversaries),
    )


def _tasks(planned: Sequence[PlannedRun]) -> list[tuple[str | None, Task]]:
    return [(run.defense.label if run.defense else None, task) for run in planned for task in run.tasks]


def _assessments(tasks: Sequence[tuple[str | None, Task]]) -> tuple[Assessed, ...]:
    """Every theorem for every adversary under every defense, once."""
    cases: dict[tuple[tuple[str, ...], str | None], Facts] = {}
    for defense, task in tasks:
        cases.setdefault((task.adversary.parties, defense), task.facts)
    return tuple(
        Assessed(parties, defense, theorem.assess(facts))
        for (parties, defense), facts in cases.items()
        for theorem in THEOREMS
    )


def _cells(item: Expected) -> tuple[ScalarValue, ...]:
    who, why = " + ".join(item.adversary), "; ".join(item.reasons)
    return who, item.defense, item.attack, item.secret.kind.value, item.secret.owner, item.verdict, why


def _theorem_json(item: Assessed) -> dict[str, object]:
    found = item.assessment
    return {
        "adversary": list(item.adversary),
        "defense": item.defense,
        "theorem": found.theorem,
        "state": found.state.value,
        "conclusion": found.conclusion,
        "conditions": [
            {"statement": c.statement, "state": c.state.value, "detail": c.detail} for c in found.conditions
        ],
    }


def _attack_json(item: Expected) -> dict[str, object]:
    return {
        "adversary": list(item.adversary),
        "defense": item.defense,
        "attack": item.attack,
        "secret": str(item.secret),
        "verdict": item.verdict,
        "reasons": list(item.reasons),
    }
