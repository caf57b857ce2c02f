"""Only the largest entries of an update go out (Shokri and Shmatikov 2015; Li et al. 2019, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook, HookKind, LocalState
from fedleak.core.settings import setting
from fedleak.core.steps import Role


@dataclass(frozen=True)
class SelectiveSharing(Defense):
    name = "selective-sharing"
    aliases = ("top-k",)
    summary = "sends only the largest entries of an update, and zeros for the others"
    reference = Reference("li2019", "section 4.2")
    acts_at = frozenset({steps.LOCAL_UPDATE})

    fraction: float = setting(0.5, "share of the entries that are sent", unit="0 to 1")
    parties: tuple[str, ...] = setting((), "who selects; every party with rows if empty")

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InputError(f"fraction of selective-sharing must be between 0 and 1; got {self.fraction}")

    def declare(self, facts: Facts) -> Facts:
        return replace(facts, options={**facts.options, "shared_fraction": self.fraction})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        everyone = [party.name for party in federation.with_role(Role.ACTIVE)]
        for name in self.parties:
            federation.party(name)
        return tuple(Hook(steps.LOCAL_UPDATE, HookKind.SEND, name, self._select) for name in self.parties or everyone)

    def _select(self, update: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        n_sent = ceil(self.fraction * len(update))
        largest = np.argsort(-np.abs(update), kind="stable")[:n_sent]
        sent = np.zeros_like(update)
        sent[largest] = update[largest]
        return sent
