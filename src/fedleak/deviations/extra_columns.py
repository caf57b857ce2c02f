"""Columns that a party does not have, put among its own: more equations in each of its gradients.

``fake-features`` trains on columns of noise until they are as many as a batch has rows; the model learns little from
them (Li et al. 2021, section 4.1). ``claimed-columns`` keeps their weights at zero, so that the model and everybody's
scores are as without them; it works where the number of columns is not public (Hu et al. 2022, end of section 5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Scalar
from fedleak.core.whole.federation import setting
from fedleak.core.whole.hooks import Deviation, Hook, HookKind, LocalState
from fedleak.protocols.linear import vocabulary as linear


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
        local.record(steps.OWN_DATA, linear.FAKE_FEATURES, Scalar(count))
        return np.hstack([features, self.scale * rng.standard_normal((n_rows, count))])


@dataclass(frozen=True)
class ClaimedColumns(Deviation):
    """As many equations as the party likes, and no trace in the model."""

    name = "claimed-columns"
    summary = "claims random columns that the party does not have, for more equations in each gradient"
    reference = Reference("hu2022", "section 5.2")
    acts_at = frozenset({steps.OWN_DATA, linear.INITIALISE, linear.GRADIENT})

    n_extra: int = setting(64, "columns that are claimed beyond the real ones", unit="columns")

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        behaviour = _Claiming(self.n_extra)
        return (
            Hook(steps.OWN_DATA, HookKind.INPUT, party, behaviour.widen),
            Hook(linear.INITIALISE, HookKind.COMPUTE, party, behaviour.start_at_zero),
            Hook(linear.GRADIENT, HookKind.COMPUTE, party, behaviour.keep_to_itself),
        )


class _Claiming:
    """One party's run; it remembers how many of its columns are real."""

    def __init__(self, n_extra: int) -> None:
        self._n_extra = n_extra
        self._n_real = 0

    def widen(self, features: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        self._n_real = features.shape[1]
        return np.hstack([features, rng.uniform(-1.0, 1.0, (len(features), self._n_extra))])

    def start_at_zero(self, width: int, local: LocalState, rng: np.random.Generator) -> FloatArray:
        """The scale of honest weights depends on the true width; nobody sees a party's first weights."""
        return np.zeros(width)

    def keep_to_itself(self, gradient: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        local.record(linear.GRADIENT, linear.CLAIMED_GRADIENT, Array(gradient))
        return np.where(np.arange(len(gradient)) < self._n_real, gradient, 0.0)
