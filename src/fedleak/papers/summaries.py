"""Means over seeds, alone or with a band: each function is named for the kind of band that it gives.

A figure ``x`` gets ``x_low`` and ``x_high`` beside it. Kinds differ in what they say: one standard error and Student's
95 % are about the mean, the extremes are about single runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

from fedleak.core.arrays import FloatArray
from fedleak.papers.experiment import Band, Figures


@dataclass(frozen=True)
class Summary:
    """Figures, and what the bands of some of them are. ``|`` joins it with another one, or with plain figures."""

    figures: Figures
    bands: Mapping[str, Band] = field(default_factory=dict)

    def __or__(self, other: Summary | Figures) -> Summary:
        more = other if isinstance(other, Summary) else Summary(other)
        return Summary({**self.figures, **more.figures}, {**self.bands, **more.bands})

    def __ror__(self, plain: Figures) -> Summary:
        return Summary(plain) | self


def mean(values: Sequence[float | None]) -> float | None:
    """Over the runs that gave a figure; None where none did."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def means(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each figure that the first run has."""
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def error_of_mean(values: FloatArray) -> float:
    """The standard error; 0 from a single run, which says nothing about it."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def standard_error(name: str, values: FloatArray) -> Summary:
    """Mean, with one standard error below and above, as Hu et al. draw it."""
    average, error = float(values.mean()), error_of_mean(values)
    return _banded(name, Band.STANDARD_ERROR, average, average - error, average + error)


def student_95(name: str, values: Sequence[float]) -> Summary:
    """Mean, with Student's 95 % interval over the trials; no interval from a single trial."""
    if len(values) < 2:
        return _banded(name, Band.STUDENT_95, mean(values), None, None)
    average = float(np.mean(values))
    half = float(student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return _banded(name, Band.STUDENT_95, average, average - half, average + half)


def min_max(name: str, values: Sequence[float | None]) -> Summary:
    """Mean, smallest and largest of the runs that gave a figure."""
    known = [value for value in values if value is not None]
    return _banded(name, Band.MIN_MAX, mean(known), min(known, default=None), max(known, default=None))


def mean_max(name: str, values: Sequence[float | None]) -> Summary:
    """Mean and largest: for errors, where the worst run is what matters."""
    known = [value for value in values if value is not None]
    return Summary({name: mean(known), f"{name}_high": max(known, default=None)}, {name: Band.MAX})


def _banded(name: str, band: Band, middle: float | None, low: float | None, high: float | None) -> Summary:
    return Summary({name: middle, f"{name}_low": low, f"{name}_high": high}, {name: band})
