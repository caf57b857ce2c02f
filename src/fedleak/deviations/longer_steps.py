"""A local optimiser that makes steps longer where a gradient keeps its direction (after Fu et al. 2022).

A party of a split network that learns faster than its partners has what the joint network leans on: its bottom comes to
tell labels apart by itself. Every coordinate of its gradient is multiplied by 1 + gain g / g_before, kept between 1 and
the largest factor: it grows while the sign stays, and is as it was where the sign turns. Messages keep their form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.attack import Reference
from fedleak.core.payload import Array, Tree
from fedleak.core.whole.federation import setting
from fedleak.core.whole.hooks import Deviation, Hook, HookKind, LocalState
from fedleak.models.local_batch import Backward
from fedleak.protocols.networks import vocabulary as networks

TINY = 1e-7  # beside the gradient before, which may be zero


@dataclass(frozen=True)
class AcceleratedSteps(Deviation):
    name = "accelerated-steps"
    aliases = ("malicious-optimiser",)
    summary = "lengthens the steps of its own bottom network wherever a gradient keeps its sign"
    reference = Reference("fedleak", "docs/attacks/model-completion-accelerated.md")
    acts_at = frozenset({networks.OWN_STEP})

    gain: float = setting(1.0, "how fast a factor grows with the ratio of a gradient to the one before")
    largest: float = setting(5.0, "factor that no coordinate exceeds")

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        return (Hook(networks.OWN_STEP, HookKind.COMPUTE, party, _Behaviour(self).lengthened),)


class _Behaviour:
    """One party's training; it remembers its last honest gradient."""

    def __init__(self, deviation: AcceleratedSteps) -> None:
        self._deviation = deviation
        self._before: dict[str, AnyArray] = {}

    def lengthened(self, given: Backward, _local: LocalState, _rng: np.random.Generator) -> Tree:
        honest = given.gradient()
        longer = {name: Array(self._factors(name, gradient) * gradient) for name, gradient in honest.items()}
        self._before = honest
        return Tree(longer)

    def _factors(self, name: str, gradient: AnyArray) -> AnyArray:
        before = self._before.get(name)
        if before is None:
            return np.ones_like(gradient)
        ratio = gradient * before / (np.square(before) + TINY**2)
        grown = 1 + self._deviation.gain * ratio
        return np.clip(grown, 1.0, self._deviation.largest).astype(gradient.dtype)
