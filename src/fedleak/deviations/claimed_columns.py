"""A party claims more columns than it has (Hu et al. 2022, end of section 5).

Where the number of columns is not public, random ones give it as many equations as it likes. Their weights start at
zero and stay there, so that the model and everybody's scores are as without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.deviation import Deviation
from fedleak.core.hooks import Hook, HookKind, LocalState
from fedleak.core.payload import Array
from fedleak.core.settings import setting


@dataclass(frozen=True)
class ClaimedColumns(Deviation):
    name = "claimed-columns"
    summary = "claims random columns that the party does not have, for more equations in each gradient"
    reference = Reference("hu2022", "section 5.2")
    acts_at = frozenset({steps.OWN_DATA, steps.INITIALISE, steps.GRADIENT})

    n_extra: int = setting(64, "columns that are claimed beyond the real ones", unit="columns")

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        behaviour = _Behaviour(self.n_extra)
        return (
            Hook(steps.OWN_DATA, HookKind.INPUT, party, behaviour.widen),
            Hook(steps.INITIALISE, HookKind.COMPUTE, party, behaviour.start_at_zero),
            Hook(steps.GRADIENT, HookKind.COMPUTE, party, behaviour.keep_to_itself),
        )


class _Behaviour:
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
        local.record(steps.GRADIENT, "claimed-gradient", Array(gradient))
        return np.where(np.arange(len(gradient)) < self._n_real, gradient, 0.0)
