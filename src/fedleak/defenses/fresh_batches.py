"""Batches dealt anew in every round (Li et al. 2019, section 4.2): no two updates are over the same rows."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.federation import Federation
from fedleak.core.settings import setting
from fedleak.core.steps import Role


@dataclass(frozen=True)
class FreshBatches(Defense):
    name = "fresh-batches"
    aliases = ("shuffling",)
    summary = "deals a party's rows into batches anew in every round"
    reference = Reference("li2019", "section 4.2")
    changes = frozenset({"shuffled"})

    parties: tuple[str, ...] = setting((), "who shuffles; every party with rows if empty")

    def configure(self, federation: Federation) -> Federation:
        for name in self.parties:
            federation.party(name)
        everyone = tuple(party.name for party in federation.with_role(Role.ACTIVE))
        already = tuple(getattr(federation.settings, "shuffled", ()))
        names = dict.fromkeys((*already, *(self.parties or everyone)))
        return federation.with_settings(shuffled=tuple(names))
