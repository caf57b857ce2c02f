"""Means over seeds, alone or with a band: each function is named for the kind of band that it gives.

A figure ``x`` gets ``x_low`` and ``x_high`` beside it. Kinds differ in what they say: one standard error and Student's
95 % are about the mean, the extremes are about single runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import t as student

from fedleak.core.arrays import FloatArray


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


def standard_error(name: str, values: FloatArray) -> dict[str, float]:
    """Mean, with one standard error below and above, as Hu et al. draw it."""
    average, error = float(values.mean()), error_of_mean(values)
    return {name: average, f"{name}_low": average - error, f"{name}_high": average + error}


def student_95(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Mean, with Student's 95 % interval over the trials; no interval from a single trial."""
    if len(values) < 2:
        return {name: mean(values), f"{name}_low": None, f"{name}_high": None}
    average = float(np.mean(values))
    half = float(student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return {name: average, f"{name}_low": average - half, f"{name}_high": average + half}


def min_max(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    """Mean, smallest and largest of the runs that gave a figure."""
    known = [value for value in values if value is not None]
    return {name: mean(known), f"{name}_low": min(known, default=None), f"{name}_high": max(known, default=None)}


def mean_max(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    """Mean and largest: for errors, where the worst run is what matters."""
    known = [value for value in values if value is not None]
    return {name: mean(known), f"{name}_high": max(known, default=None)}
