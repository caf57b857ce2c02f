"""Entity alignment: which people all parties have, the first step of every vertical federation.

By private set intersection over an elliptic curve (Meadows 1986; Huberman et al. 1999), between the active party and
each partner: who follows the protocol learns the output and the sizes of the sets, and nothing of who is in one set
alone. Or by salted digests, as it is still done. Whoever chooses what to put in asks about whom it likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Federation, Settings, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.protocols.actor import Actor
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.held_people import held_by, put_in, truth_of
from fedleak.protocols.alignment.matched_identifiers import Matched, Side, match_digests, match_points

POINTS, BY_DIGESTS = "elliptic-curve", "digests"
ROWS, SIZE = "rows", "size"
EVERYBODY, ACTIVE_ALONE = "everybody", "active"


@dataclass(frozen=True)
class AlignmentSettings(Settings):
    matching: str = setting(
        POINTS,
        "how identifiers are compared: private set intersection on Curve25519, or salted SHA-256 digests",
        choices=(POINTS, BY_DIGESTS),
    )
    output: str = setting(
        ROWS, "what comes out: which people both have, or how many; digests have no second way", choices=(ROWS, SIZE)
    )
    told: str = setting(
        EVERYBODY,
        "who learns which people all parties have; training needs everybody",
        choices=(EVERYBODY, ACTIVE_ALONE),
    )
    identifiers: int = setting(
        10_000, "identifiers that there could be: customer numbers, phone numbers, birth dates", tells_less="more"
    )
    most_identifiers: int = setting(0, "a party refuses a set of more than these; 0: any number")
    held_share: float = setting(0.6, "share of the table's people that each party has, drawn by each for itself")
    everybody_at: tuple[str, ...] = setting((), "parties that have all people of the table")

    def __post_init__(self) -> None:
        if not 2 <= self.identifiers <= alignment.MOST_IDENTIFIERS:
            raise InputError(f"identifiers must be 2 to {alignment.MOST_IDENTIFIERS}; got {self.identifiers}")
        if self.most_identifiers < 0:
            raise InputError(f"most_identifiers must be 0 or more; got {self.most_identifiers}")
        if not 0 < self.held_share <= 1:
            raise InputError(f"held_share must be above 0 and at most 1; got {self.held_share}")
        if self.matching == BY_DIGESTS and self.output == SIZE:
            raise InputError(
                'output must be "rows" with matching = "digests", which show them; use matching = "elliptic-curve"'
            )


class EntityAlignment(Protocol):
    name = "entity-alignment"
    aliases = ("alignment", "psi")
    summary = "which people all parties have, by private set intersection on Curve25519 or by salted digests"
    reference = Reference("fedleak", "docs/protocols/entity-alignment.md")
    settings_type = AlignmentSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})
    takes_missing = True
    named_steps = frozenset(alignment.VOCABULARY.steps)
    may_reveal = frozenset(
        {Capability.OWN_FEATURES, Capability.LABELS, Capability.ALIGNED_ROWS, Capability.IDENTIFIER_DIGESTS}
    )

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, AlignmentSettings, federation.settings)
        _check(federation, settings)
        held, sides = {}, {}
        for party in federation.parties:
            actor = Actor(party.name, party.role, hooks, sink, randomness)
            share = 1.0 if party.name in settings.everybody_at else settings.held_share
            held[party.name] = held_by(party, actor, share)
            people = put_in(party, actor, held[party.name])
            sides[party.name] = Side(actor, people, settings.identifiers, settings.most_identifiers)
        active = sides[federation.with_role(Role.ACTIVE)[0].name]
        partners = [sides[party.name] for party in federation.with_role(Role.PASSIVE)]
        _align(active, partners, settings)
        captured = sink.finish(facts)
        return Run(captured.transcript, captured.locals, truth_of(federation.parties, held))

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        given = settings_of(cls.name, AlignmentSettings, settings)
        own = alignment.AlignmentFacts(
            matching=given.matching,
            output=given.output,
            told=given.told,
            identifiers=given.identifiers,
            most_identifiers=given.most_identifiers,
            everybody_at=tuple(p.name for p in parties) if given.held_share == 1 else given.everybody_at,
        )
        return Facts(cls.name, parties, n_rows, own=own)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        given = settings_of(cls.name, AlignmentSettings, settings)
        roles = {party.role for party in parties if party.name in coalition}
        found = {Capability.OWN_FEATURES} if roles & DATA_ROLES else set()
        if Role.ACTIVE in roles:
            found |= {Capability.LABELS}
            found |= {Capability.IDENTIFIER_DIGESTS} if given.matching == BY_DIGESTS else set()
        if given.output == ROWS and (Role.ACTIVE in roles or given.told == EVERYBODY):
            found |= {Capability.ALIGNED_ROWS}
        return frozenset(found)


def _check(federation: Federation, settings: AlignmentSettings) -> None:
    if len(federation.with_role(Role.ACTIVE)) != 1 or not federation.with_role(Role.PASSIVE):
        raise InputError("entity-alignment must have one active party and at least one passive one")
    last = max(int(party.train.ids.max(initial=0)) for party in federation.parties)
    if last >= settings.identifiers:
        raise InputError(f"identifiers must be above the largest row number, {last}; got {settings.identifiers}")
    strangers = sorted(set(settings.everybody_at) - {party.name for party in federation.parties})
    if strangers:
        raise InputError(f"everybody_at must name parties of the federation; got {', '.join(strangers)}")


def _align(active: Side, partners: Sequence[Side], settings: AlignmentSettings) -> None:
    found = {partner.actor.name: _matched(active, partner, settings) for partner in partners}
    counts = Tree({name: Scalar(matched.count) for name, matched in found.items()})
    active.actor.record(alignment.MATCHING, alignment.MATCHED_COUNTS, counts)
    if settings.output == SIZE:
        return
    rows = {name: matched.people for name, matched in found.items() if matched.people is not None}
    active.actor.record(
        alignment.MATCHING, alignment.MATCHED_ROWS, Tree({name: Array(people) for name, people in rows.items()})
    )
    if settings.told == EVERYBODY:
        _tell(active, partners, rows)


def _matched(active: Side, partner: Side, settings: AlignmentSettings) -> Matched:
    if settings.matching == BY_DIGESTS:
        return match_digests(active, partner)
    return match_points(active, partner, shuffled=settings.output == SIZE)


def _tell(active: Side, partners: Sequence[Side], rows: Mapping[str, np.ndarray]) -> None:
    common = Array(reduce(np.intersect1d, rows.values()).astype(np.int64))
    for partner in partners:
        active.actor.send(alignment.COMMON_ROWS, partner.actor, common)
