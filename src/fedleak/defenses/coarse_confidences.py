"""Confidences made coarser before the joint computation reveals them: rounded, noised, or the top class alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, HookKind, LocalState
from fedleak.protocols.prediction import vocabulary as prediction

MODES = ("down", "nearest")


def at_confidences(act: Any) -> tuple[Hook[Any], ...]:
    """A hook on the confidences as they leave the joint computation."""
    return (Hook(prediction.CONFIDENCES, HookKind.SEND, prediction.JOINT_COMPUTATION, act),)


@dataclass(frozen=True)
class Rounding(Defense):
    name = "rounding"
    summary = "rounds the confidences to a few decimal digits before they are revealed"
    reference = Reference("luo2021", "section VII, fig. 11")
    acts_at = frozenset({prediction.CONFIDENCES})

    digits: int = setting(1, "decimal digits that are kept", unit="digits", tells_less="fewer")
    mode: str = setting("down", "towards zero, as the paper says, or to the nearest, as its code does", choices=MODES)

    def __post_init__(self) -> None:
        if not 0 <= self.digits <= 15:
            raise InputError(f"digits of rounding must be from 0 to 15; got {self.digits}")
        if self.mode not in MODES:
            raise InputError(f"mode of rounding must be one of {', '.join(MODES)}; got {self.mode!r}")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(prediction.PredictionFacts, confidence_digits=self.digits, confidence_rounding=self.mode)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return at_confidences(self._round)

    def _round(self, value: Array, local: LocalState, rng: np.random.Generator) -> Array:
        scale = 10.0**self.digits
        scaled = value.values * scale
        return Array((np.floor(scaled) if self.mode == "down" else np.rint(scaled)) / scale)


@dataclass(frozen=True)
class ConfidenceNoise(Defense):
    """What the noise pushes out of [0, 1] is put back."""

    name = "confidence-noise"
    summary = "adds Gaussian noise to the confidences before they are revealed"
    reference = Reference("fedleak", "beside luo2021, section VII")
    acts_at = frozenset({prediction.CONFIDENCES})

    sigma: float = setting(0.05, "standard deviation of the noise on a confidence", tells_less="more")

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise InputError(f"sigma of confidence-noise must be above 0; got {self.sigma}")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(prediction.PredictionFacts, confidence_noise=self.sigma)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return at_confidences(self._add_noise)

    def _add_noise(self, value: Array, local: LocalState, rng: np.random.Generator) -> Array:
        return Array(np.clip(value.values + self.sigma * rng.standard_normal(value.values.shape), 0.0, 1.0))


@dataclass(frozen=True)
class TopLabel(Defense):
    """A one for the predicted class, zeros for the others."""

    name = "top-label"
    summary = "reveals the predicted class alone, without confidences"
    reference = Reference("luo2021", "section VII, the end of rounding")
    acts_at = frozenset({prediction.CONFIDENCES})

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(prediction.PredictionFacts, top_label=True)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return at_confidences(_one_hot)


def _one_hot(value: Array, _local: LocalState, _rng: np.random.Generator) -> Array:
    top = np.argmax(np.nan_to_num(value.values), axis=1)
    released = np.eye(value.values.shape[1])[top]
    released[~np.isfinite(value.values).all(axis=1)] = np.nan  # what was withheld stays so
    return Array(released)
