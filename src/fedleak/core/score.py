"""A measured figure with its baseline beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Score:
    """Finite throughout: a NaN beats no baseline, and would pass for "no leak". Without a figure there is no score."""

    metric: str
    value: float
    baseline: float  # the best that the knowledge alone gives
    better: Better
    ci: tuple[float, float]  # 95 %, of the value
    n: int  # cells that were scored

    def __post_init__(self) -> None:
        figures = (self.value, self.baseline, *self.ci)
        if not all(isfinite(figure) for figure in figures):
            raise ValueError(
                f"a score of {self.metric} must be finite; got {self.value:g}, baseline {self.baseline:g}, interval "
                f"{self.ci[0]:g} to {self.ci[1]:g}. A metric with nothing to measure answers None"
            )

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
