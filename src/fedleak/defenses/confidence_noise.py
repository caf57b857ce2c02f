"""Gaussian noise on the confidences, which are then put back into [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook, LocalState
from fedleak.core.payload import Array
from fedleak.core.settings import setting
from fedleak.defenses.joint_computation import at_confidences


@dataclass(frozen=True)
class ConfidenceNoise(Defense):
    name = "confidence-noise"
    summary = "adds Gaussian noise to the confidences before they are revealed"
    reference = Reference("fedleak", "beside luo2021, section VII")
    acts_at = frozenset({steps.CONFIDENCES})

    sigma: float = setting(0.05, "standard deviation of the noise on a confidence")

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise InputError(f"sigma of confidence-noise must be above 0; got {self.sigma}")

    def declare(self, facts: Facts) -> Facts:
        return replace(facts, options={**facts.options, "confidence_noise": self.sigma})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return at_confidences(self._add_noise)

    def _add_noise(self, value: Array, local: LocalState, rng: np.random.Generator) -> Array:
        return Array(np.clip(value.values + self.sigma * rng.standard_normal(value.values.shape), 0.0, 1.0))
