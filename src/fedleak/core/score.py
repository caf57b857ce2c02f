"""A measured figure with its baseline beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Score:
    metric: str
    value: float
    baseline: float  # the best that the knowledge alone gives
    better: Better
    ci: tuple[float, float]  # 95 %, of the value
    n: int  # cells that were scored

    @property
    def gain(self) -> float:
        """How far the value is on the good side of the baseline."""
        difference = self.value - self.baseline
        return difference if self.better is Better.HIGHER else -difference

    @property
    def beats_baseline(self) -> bool:
        """The whole interval lies on the good side of the baseline."""
        low, high = self.ci
        return low > self.baseline if self.better is Better.HIGHER else high < self.baseline
