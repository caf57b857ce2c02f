"""Confidences rounded to a few digits (Luo et al. 2021, section VII)."""

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
from fedleak.core.payload import Array, ScalarValue
from fedleak.core.settings import setting
from fedleak.defenses.joint_computation import at_confidences

MODES = ("down", "nearest")


@dataclass(frozen=True)
class Rounding(Defense):
    name = "rounding"
    summary = "rounds the confidences to a few decimal digits before they are revealed"
    reference = Reference("luo2021", "section VII, fig. 11")
    acts_at = frozenset({steps.CONFIDENCES})

    digits: int = setting(1, "decimal digits that are kept", unit="digits")
    mode: str = setting("down", "towards zero, as the paper says, or to the nearest, as its code does", choices=MODES)

    def __post_init__(self) -> None:
        if not 0 <= self.digits <= 15:
            raise InputError(f"digits of rounding must be from 0 to 15; got {self.digits}")
        if self.mode not in MODES:
            raise InputError(f"mode of rounding must be one of {', '.join(MODES)}; got {self.mode!r}")

    def declare(self, facts: Facts) -> Facts:
        known: dict[str, ScalarValue] = {"confidence_digits": self.digits, "confidence_rounding": self.mode}
        return replace(facts, options={**facts.options, **known})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return at_confidences(self._round)

    def _round(self, value: Array, local: LocalState, rng: np.random.Generator) -> Array:
        scale = 10.0**self.digits
        scaled = value.values * scale
        return Array((np.floor(scaled) if self.mode == "down" else np.rint(scaled)) / scale)
