"""Only the predicted class is revealed: a one for it, zeros for the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.facts import Facts
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook, LocalState
from fedleak.core.payload import Array
from fedleak.defenses.joint_computation import at_confidences


@dataclass(frozen=True)
class TopLabel(Defense):
    name = "top-label"
    summary = "reveals the predicted class alone, without confidences"
    reference = Reference("luo2021", "section VII, the end of rounding")
    acts_at = frozenset({steps.CONFIDENCES})

    def declare(self, facts: Facts) -> Facts:
        return replace(facts, options={**facts.options, "top_label": True})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return at_confidences(_one_hot)


def _one_hot(value: Array, _local: LocalState, _rng: np.random.Generator) -> Array:
    top = np.argmax(np.nan_to_num(value.values), axis=1)
    released = np.eye(value.values.shape[1])[top]
    released[~np.isfinite(value.values).all(axis=1)] = np.nan  # what was withheld stays so
    return Array(released)
