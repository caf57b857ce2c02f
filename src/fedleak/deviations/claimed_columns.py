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
        real: list[int] = []

        def widen(features: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
            real.append(features.shape[1])
            return np.hstack([features, rng.uniform(-1.0, 1.0, (len(features), self.n_extra))])

        def start_at_zero(width: int, local: LocalState, rng: np.random.Generator) -> FloatArray:
            # The scale of honest weights depends on the public width; nobody sees a party's first weights.
            return np.zeros(width)

        def keep_to_oneself(gradient: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
            local.record(steps.GRADIENT, "claimed-gradient", Array(gradient))
            return np.where(np.arange(len(gradient)) < real[-1], gradient, 0.0)

        return (
            Hook(steps.OWN_DATA, HookKind.INPUT, party, widen),
            Hook(steps.INITIALISE, HookKind.COMPUTE, party, start_at_zero),
            Hook(steps.GRADIENT, HookKind.COMPUTE, party, keep_to_oneself),
        )
