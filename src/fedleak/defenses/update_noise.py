"""Gaussian noise on a party's update before it is masked and summed."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from fedleak.core.payload import Array
from fedleak.core.settings import setting
from fedleak.core.steps import Role


@dataclass(frozen=True)
class UpdateNoise(Defense):
    name = "update-noise"
    summary = "adds Gaussian noise to every entry of the update that a party sends"
    reference = Reference("fedleak", "Gaussian mechanism on updates")
    acts_at = frozenset({steps.LOCAL_UPDATE})

    sigma: float = setting(0.01, "standard deviation of the noise on an entry of an update", unit="weight")
    parties: tuple[str, ...] = setting((), "who adds it; every party with rows if empty")

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise InputError(f"sigma of update-noise must be above 0; got {self.sigma}")

    def declare(self, facts: Facts) -> Facts:
        return replace(facts, options={**facts.options, "update_noise": self.sigma})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        everyone = [party.name for party in federation.with_role(Role.ACTIVE)]
        for name in self.parties:
            federation.party(name)
        return tuple(Hook(steps.LOCAL_UPDATE, HookKind.SEND, name, self._add) for name in self.parties or everyone)

    def _add(self, update: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        noise = self.sigma * rng.standard_normal(len(update))
        local.record(steps.LOCAL_UPDATE, "noise", Array(noise))
        return update + noise
