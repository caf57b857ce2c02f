"""Random columns among a party's own (Li et al. 2021, section 4.1).

A party with fewer columns than a batch has rows cannot solve its gradient for the residuals. It adds columns of noise
until it can; the model learns little from them, and nobody else sees them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.deviation import Deviation
from fedleak.core.facts import Facts
from fedleak.core.hooks import Hook, HookKind, LocalState
from fedleak.core.payload import Scalar


@dataclass(frozen=True)
class FakeFeatures(Deviation):
    """``count`` of None is as many as the batch needs, or as the rows need where the batch size is not known."""

    name = "fake-features"
    summary = "adds columns of noise to the party's own until they are as many as a batch has rows"
    reference = Reference("li2021", "section 4.1")
    acts_at = frozenset({steps.OWN_DATA})

    count: int | None = None
    scale: float = 0.5
    batch_size: int | None = None

    def informed(self, facts: Facts) -> FakeFeatures:
        return replace(self, batch_size=facts.batch_size)

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        return (Hook(steps.OWN_DATA, HookKind.INPUT, party, self._widen),)

    def _widen(self, features: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        n_rows, width = features.shape
        wanted = self.batch_size or n_rows
        count = max(wanted - width, 0) if self.count is None else self.count
        local.record(steps.OWN_DATA, "fake-features", Scalar(count))
        return np.hstack([features, self.scale * rng.standard_normal((n_rows, count))])
