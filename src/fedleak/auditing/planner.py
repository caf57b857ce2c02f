"""Which attacks apply for which adversary under which defense, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedleak.attacks import ATTACKS
from fedleak.auditing.declared_data import build_federation, sketch_facts, sketch_federation
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.scenario import AdversarySpec, Scenario
from fedleak.core.adversary import JOINT, Capability, Secret, SecretKind, together
from fedleak.core.attack import Attack, Prediction, Verdict
from fedleak.core.errors import InputError, ScenarioError, in_one_line, show_traceback
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.finding import Mode, Theory
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense, Deviation
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import public_stream
from fedleak.deviations import DEVIATIONS
from fedleak.protocols import PROTOCOLS

if TYPE_CHECKING:
    from fedleak.data.encoding import EncodedTable
    from fedleak.trial.decide import Question

# A scenario's, whatever the protocol.
OF_KNOWLEDGE = frozenset({Capability.KNOWN_CELLS, Capability.KNOWN_LABELS, Capability.PUBLIC_SAMPLE})
OF_CELLS = frozenset({SecretKind.FEATURES, SecretKind.RANGES, SecretKind.BINS})
NOTHING_LEFT = "the adversary is declared to know every cell beforehand: nothing is left to find"


@dataclass(frozen=True, eq=False)
class Task:
    """One attack of one adversary on one secret; ``skip`` says why it is not run."""

    adversary: AdversarySpec
    attack: type[Attack]
    target: Secret
    facts: Facts  # as this adversary sees them
    prediction: Prediction
    skip: str | None = None

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.facts.capabilities or frozenset()

    def question(self, defense: str | None) -> Question:
        from fedleak.trial.decide import Question  # theory alone needs neither trials nor metrics

        theory = Theory(self.prediction.verdict.value, self.prediction.reasons)
        return Question(self.adversary.parties, self.adversary.mode, self.attack.name, self.target, defense, theory)


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """One run of the protocol, and what is tried on it. The federation is as it is without the defense."""

    federation: Federation
    defense: Defense | None
    deviation: str | None
    deviating: str | None  # the party that deviates
    tasks: tuple[Task, ...]
    n_rounds: int | None  # for the progress bar

    @property
    def label(self) -> str | None:
        return self.defense.label if self.defense else None

    @property
    def name(self) -> str:
        return (self.label or "no-defense") + (f"-{self.deviation}-by-{self.deviating}" if self.deviation else "")

    @property
    def dishonest(self) -> Deviation | None:
        """What the deviating party does, fitted to what it knows."""
        return DEVIATIONS.get(self.deviation)().informed(self.tasks[0].facts) if self.deviation else None


def under_ideal_cipher(planned: PlannedRun) -> PlannedRun:
    """The same under the ideal cipher, where the protocol has one to choose; it has none for a lack of blinding."""
    from fedleak.crypto.blinding import FRESH  # theory alone needs no cipher

    settings = planned.federation.settings
    if not hasattr(settings, "cipher") or getattr(settings, "blinding", FRESH) != FRESH:
        return planned
    return replace(planned, federation=planned.federation.with_settings(cipher="sealed"))


def plan(
    federation: Federation,
    adversaries: tuple[AdversarySpec, ...],
    defenses: tuple[Defense, ...],
    *,
    parties: tuple[PartyFacts, ...],
    n_rows: int | None,
) -> tuple[PlannedRun, ...]:
    """One run for each distinct (deviation, defense), with all tasks that can share it.

    ``parties`` and ``n_rows`` are what is known of the federation; without data that is less than it holds.
    """
    runs = []
    for defense in (None, *defenses):
        configured = _configured(federation, defense)
        protocol = PROTOCOLS.get(federation.protocol)
        facts = protocol.public_facts(configured, defense, parties=parties, n_rows=n_rows)
        protocol.check_headroom(configured.settings, facts)
        tasks = [task for adversary in adversaries for task in _tasks(configured, facts, adversary)]
        deviations = dict.fromkeys(_deviation_of(task) for task in tasks)
        for deviation, party in sorted(deviations, key=lambda key: (key[0] or "", key[1] or "")):
            mine = tuple(task for task in tasks if _deviation_of(task) == (deviation, party))
            runs.append(PlannedRun(federation, defense, deviation, party, mine, facts.n_rounds))
    return tuple(runs)


def _configured(federation: Federation, defense: Defense | None) -> Federation:
    """The federation under a defense; a defense that does not fit it is told now, before anything runs."""
    if defense is None:
        return federation
    try:
        configured = defense.configure(federation)
        defense.hooks(configured)
    except InputError as error:
        raise ScenarioError(f"defense {defense.name}: {error}") from error
    return configured


def _tasks(federation: Federation, facts: Facts, adversary: AdversarySpec) -> Iterator[Task]:
    coalition = adversary.parties
    protocol = PROTOCOLS.get(federation.protocol)
    capabilities = protocol.reveals(federation.settings, facts.parties, coalition) | _from_knowledge(adversary)
    seen = facts.seen_by(coalition, capabilities)
    wanted = {ATTACKS.get(name).name for name in adversary.attacks}
    # A protocol that takes tables alone may make pictures of them.
    parties = facts.parties if protocol.shaped_cells else tuple(replace(one, pictures=None) for one in facts.parties)
    for attack in ATTACKS:
        if attack.name not in wanted if wanted else _is_foreign(attack, protocol):
            continue
        found = targets(attack.produces, parties, coalition, apart=attack.apart)
        for target in found or [Secret(attack.produces, JOINT)]:
            skip = _reason_to_skip(attack, adversary, capabilities, bool(found), protocol)
            yield Task(adversary, attack, target, seen, _predicted(attack, seen, skip), skip)


def _predicted(attack: type[Attack], seen: Facts, skip: str | None) -> Prediction:
    """Nobody works on what the protocol does not give. A prediction that fails is none: what somebody else's attack
    does here must not end the audit."""
    if skip is not None and attack.requires - (seen.capabilities or frozenset()) - OF_KNOWLEDGE:
        return Prediction(Verdict.IMPOSSIBLE, (skip,))
    try:
        return attack.predict(seen)
    except Exception as error:
        show_traceback(error)
        return Prediction(Verdict.UNKNOWN, (f"its prediction failed: {in_one_line(error)}",))


def attacks_for_other_protocols(protocol: str, adversaries: tuple[AdversarySpec, ...]) -> tuple[str, ...]:
    """Attacks that are left out, since no setting of the protocol gives anybody what they need. Those that an
    adversary names are planned all the same, and skipped with the reason."""
    named = {ATTACKS.get(name) for adversary in adversaries for name in adversary.attacks}
    if all(adversary.attacks for adversary in adversaries):
        return ()
    found = PROTOCOLS.get(protocol)
    return tuple(attack.name for attack in ATTACKS if attack not in named and _is_foreign(attack, found))


def _is_foreign(attack: type[Attack], protocol: type[Protocol]) -> bool:
    if attack.requires - protocol.may_reveal - OF_KNOWLEDGE:
        return True
    if attack.deviation is None or attack.deviation not in DEVIATIONS:
        return False
    return bool(_lacking_steps(attack.deviation, protocol))


def _lacking_steps(deviation: str, protocol: type[Protocol]) -> list[str]:
    return sorted(step.name for step in DEVIATIONS.get(deviation).acts_at - protocol.named_steps)


def _from_knowledge(adversary: AdversarySpec) -> frozenset[Capability]:
    known = adversary.knowledge
    given = {
        Capability.KNOWN_CELLS: known.cells > 0,
        Capability.KNOWN_LABELS: known.labels > 0,
        Capability.PUBLIC_SAMPLE: known.sample > 0,
    }
    return frozenset(capability for capability, is_given in given.items() if is_given)


def _reason_to_skip(
    attack: type[Attack],
    adversary: AdversarySpec,
    capabilities: frozenset[Capability],
    has_target: bool,
    protocol: type[Protocol],
) -> str | None:
    who = " and ".join(adversary.parties)
    if not has_target:
        return f"no party outside {who} holds {attack.produces.value}"
    if attack.deviation is not None and adversary.mode is not Mode.ACTIVE:
        return f"it takes a partner who breaks the protocol ({attack.deviation}), and {who} is declared passive"
    if adversary.knowledge.cells >= 1 and attack.produces in OF_CELLS:
        return NOTHING_LEFT
    missing = sorted(capability.value for capability in attack.requires - capabilities)
    if missing:
        return f"{'the transcript' if protocol.replays else protocol.name} does not give {who} {', '.join(missing)}"
    if attack.deviation is not None:
        if attack.deviation not in DEVIATIONS:
            return f"it deviates by {attack.deviation!r}, which no installed package has"
        lacking = _lacking_steps(attack.deviation, protocol)
        if lacking:
            return f"{protocol.name} has no {', '.join(lacking)} to deviate at"
    return None


def _deviation_of(task: Task) -> tuple[str | None, str | None]:
    if task.skip is not None or task.attack.deviation is None:
        return None, None
    return task.attack.deviation, _who_deviates(task, task.attack.deviation)


def _who_deviates(task: Task, deviation: str) -> str:
    """The first of the coalition that acts at the deviation's steps; by preference one that holds data."""
    roles = frozenset[Role].intersection(*(step.roles for step in DEVIATIONS.get(deviation).acts_at))
    able = [name for name in task.adversary.parties if task.facts.party(name).role in roles]
    first = task.facts.deviating
    return first if first in able else next(iter(able), task.adversary.parties[0])


# Of all outside the coalition: a sum hides whose is what
POOLED = (SecretKind.RECORDS, SecretKind.COLUMN_PRODUCTS)
POOLED_COLUMNS = (SecretKind.PARTIAL_SCORES, SecretKind.GRAM)


def targets(
    kind: SecretKind, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...], *, apart: bool = False
) -> list[Secret]:
    """The secrets of a kind that the coalition does not own itself; ``apart``: of several whose sum is seen, each one's
    alone."""
    outside = [party for party in parties if party.name not in coalition and party.role in DATA_ROLES]
    if kind is SecretKind.RESIDUALS:
        return [Secret(kind, JOINT)] if outside else []
    if kind in POOLED and apart:
        return [Secret(kind, party.name) for party in outside] if len(outside) > 1 else []
    if kind in POOLED:
        return [Secret(kind, together(party.name for party in outside))] if outside else []
    if kind is SecretKind.LABELS:
        return [Secret(kind, party.name) for party in outside if party.role is Role.ACTIVE]
    wide = [party.name for party in outside if party.n_features != 0]
    if kind in POOLED_COLUMNS and not apart:
        return [Secret(kind, together(wide))] if wide else []
    # Who holds columns has no pictures.
    lacks = {SecretKind.IMAGES: (False,), SecretKind.FEATURES: (True,)}.get(kind, ())
    return [Secret(kind, party.name) for party in outside if party.name in wide and party.pictures not in lacks]


def plan_audit(scenario: Scenario, table: EncodedTable | None = None) -> tuple[PlannedRun, ...]:
    """Load the data, unless they are here already, and plan all runs."""
    federation = build_federation(scenario, table)
    n_rows = federation.n_rows
    batch_size = getattr(scenario.settings, "batch_size", None)
    if batch_size is not None and batch_size > n_rows:
        raise ScenarioError(f"federation.batch_size must be at most the {n_rows} training rows; got {batch_size}")
    for adversary in scenario.adversaries:
        # Drawn once now, so that a declaration that the data cannot meet is told before anything runs.
        draw_knowledge(adversary.knowledge, federation, adversary.parties, public_stream(scenario.seed, "knowledge"))
    return plan(
        federation, scenario.adversaries, scenario.defenses, parties=federation.party_facts, n_rows=federation.n_rows
    )


def plan_check(scenario: Scenario) -> tuple[PlannedRun, ...]:
    """Plan without data: what the scenario declares has to do."""
    return plan(
        sketch_federation(scenario),
        scenario.adversaries,
        scenario.defenses,
        parties=sketch_facts(scenario),
        n_rows=scenario.partition.train_rows,
    )
