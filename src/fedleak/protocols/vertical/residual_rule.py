"""How a model's residual depends on the scores: d = slope * (sum of all scores - target)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.payload import ScalarValue


@dataclass(frozen=True)
class ResidualRule:
    """Both rules are linear in the scores, which is what homomorphic encryption allows.

    ``target`` is target_scale * label + target_shift. The loss is slope / 2 * (score - target)^2 + loss_shift.
    """

    approximation: str
    slope: float
    target_scale: float
    target_shift: float
    loss_shift: float

    def target(self, labels: AnyArray) -> FloatArray:
        return np.asarray(self.target_scale * labels + self.target_shift, dtype=np.float64)

    @property
    def options(self) -> Mapping[str, ScalarValue]:
        """What everybody knows of the rule, for the public facts."""
        return {
            "residual_slope": self.slope,
            "target_scale": self.target_scale,
            "target_shift": self.target_shift,
        }


# d = wx/4 - y/2 with y = -1, 1 is (wx - 2y)/4; the Taylor loss ln 2 - y wx/2 + (wx)^2/8 is (wx - 2y)^2/8 + ln 2 - 1/2.
LOGISTIC = ResidualRule("taylor", 0.25, target_scale=4.0, target_shift=-2.0, loss_shift=float(np.log(2)) - 0.5)
LINEAR = ResidualRule("exact", 1.0, target_scale=1.0, target_shift=0.0, loss_shift=0.0)  # eq. 1 of Li et al. 2021
