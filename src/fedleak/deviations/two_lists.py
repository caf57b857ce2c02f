"""A server of secure aggregation that tells two groups of parties different lists of who sent.

Each group is told that the other is lost, and opens the others' keys beside its own seeds. Those who collude hold
shares of both, so that t - c honest parties a group are enough: 2t <= n + c. What is summed is what everybody sent, so
the training goes on unchanged. Where the lie would not open anything, or would be noticed, the server is honest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.payload import Tree
from fedleak.core.steps import Role
from fedleak.core.whole.hooks import Deviation, Hook, HookKind, LocalState
from fedleak.protocols.averaging import vocabulary as averaging


@dataclass(frozen=True)
class DividedSenders(Deviation):
    """``threshold`` 0: it knows of none, and is honest."""

    name = "divided-senders"
    summary = "tells two groups of parties that the other group is lost, so that each opens the other's keys"
    reference = Reference("bonawitz2017", "section 6.2")
    acts_at = frozenset({averaging.SENDERS})

    threshold: int = 0
    colluders: tuple[str, ...] = ()

    def informed(self, facts: Facts) -> DividedSenders:
        own = facts.of(averaging.HorizontalLogisticFacts)
        members = tuple(party.name for party in facts.with_role(Role.ACTIVE) if party.name in facts.adversary)
        return self if own.confirm_senders else replace(self, threshold=own.recovery_threshold or 0, colluders=members)

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        return (Hook(averaging.SENDERS, HookKind.COMPUTE, party, self._told),)

    def _told(self, senders: Sequence[str], _local: LocalState, _rng: np.random.Generator) -> Tree:
        friends = [name for name in senders if name in self.colluders]
        groups = self._groups([name for name in senders if name not in self.colluders])
        lists = dict.fromkeys(senders, tuple(senders))
        if self.threshold and all(len(group) + len(friends) >= self.threshold for group in groups):
            lists |= {name: (*group, *friends) for group in groups for name in group}
        return averaging.told_senders(lists)

    def _groups(self, honest: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        half = len(honest) // 2
        return honest[:half], honest[half:]
