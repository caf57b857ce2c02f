"""Gaussian noise on the shared scores before encryption (Hu et al. 2022, algorithm 3).

A party adds noise to the copy that it encrypts for others and keeps its own copy exact, so its partners' gradients
are noised and its own use of its scores is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
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

DATA_ROLES = (Role.ACTIVE, Role.PASSIVE)


@dataclass(frozen=True)
class GaussianNoise(Defense):
    name = "gaussian-noise"
    summary = "adds Gaussian noise to the scores that a party encrypts for others"
    reference = Reference("hu2022", "algorithm 3")
    acts_at = frozenset({steps.SHARED_SCORE})

    sigma: float = setting(1.0, "standard deviation of the noise on f = theta x - 2y", unit="score")
    parties: tuple[str, ...] = setting((), "who adds it; every data party if empty")

    def __post_init__(self) -> None:
        if not 0 < self.sigma < inf:
            raise InputError(f"sigma of gaussian-noise must be above 0 and finite; got {self.sigma}")
        if len(set(self.parties)) < len(self.parties):
            raise InputError(f"parties of gaussian-noise must differ; got {', '.join(self.parties)}")

    def declare(self, facts: Facts) -> Facts:
        noisy = [party.name for party in facts.parties if party.role in DATA_ROLES]
        return facts.with_score_noise(dict.fromkeys(self.parties or noisy, self.sigma))

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        everyone = [party.name for party in federation.parties if party.role in DATA_ROLES]
        for name in self.parties:
            if name not in everyone:
                raise InputError(f"parties must be among those with data, {', '.join(everyone)}; got {name!r}")
        return tuple(
            Hook(steps.SHARED_SCORE, HookKind.SEND, name, self._add_noise) for name in self.parties or everyone
        )

    def _add_noise(self, score: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        noise = self.sigma * rng.standard_normal(len(score))
        local.record(steps.SHARED_SCORE, "noise", Array(noise))
        return score + noise
