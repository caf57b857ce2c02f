"""A scenario after a countermeasure: what the advice of a report or a check means, ready to be audited."""

from __future__ import annotations

from dataclasses import fields, replace

from fedleak.auditing.scenario import AdversarySpec, PartySpec, Scenario, check_scenario
from fedleak.core.whole.federation import Settings
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.theory.countermeasures import Countermeasure


def applied(scenario: Scenario, measure: Countermeasure) -> Scenario:
    """The scenario changed, its own defenses left out; where the measure is a defense, it is the only one."""
    protocol = measure.protocol or scenario.protocol
    parties = _parties(scenario.parties, protocol, measure.further_parties)
    changed = replace(
        scenario,
        protocol=protocol,
        settings=_settings(scenario.settings, protocol, measure),
        parties=parties,
        adversaries=_adversaries(scenario.adversaries, parties),
        defenses=(DEFENSES.get(measure.defense)(),) if measure.defense else (),
    )
    check_scenario(changed)
    return changed


def _settings(before: Settings, protocol: str, measure: Countermeasure) -> Settings:
    """Those of the new protocol, with what the old one had in common with it."""
    kind = PROTOCOLS.get(protocol).settings_type
    own = {field.name for field in fields(before)}
    kept = {field.name: getattr(before, field.name) for field in fields(kind) if field.name in own}
    return kind(**{**kept, **dict(measure.settings)})


def _parties(parties: tuple[PartySpec, ...], protocol: str, n_further: int) -> tuple[PartySpec, ...]:
    """Without roles that the protocol lacks; further parties take equal parts of the largest one's rows."""
    kept = tuple(party for party in parties if party.role in PROTOCOLS.get(protocol).roles)
    if not n_further:
        return kept
    largest = max(kept, key=lambda party: party.share or 0.0)
    part = replace(largest, share=(largest.share or 0.0) / (n_further + 1))
    further = [replace(part, name=f"{largest.name}-{number}") for number in range(2, n_further + 2)]
    return (*(part if party is largest else party for party in kept), *further)


def _adversaries(adversaries: tuple[AdversarySpec, ...], parties: tuple[PartySpec, ...]) -> tuple[AdversarySpec, ...]:
    """Whoever is left of each, nobody twice; everybody, where nobody is left."""
    names = [party.name for party in parties]
    left = [replace(one, parties=tuple(name for name in one.parties if name in names)) for one in adversaries]
    kept = tuple(dict.fromkeys(one for one in left if one.parties))
    return kept or tuple(AdversarySpec(parties=(name,)) for name in names)
