"""Means over trials with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student


def summary(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Mean, and low and high of Student's interval over the trials; no interval from a single trial."""
    if not values:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    mean = float(np.mean(values))
    if len(values) < 2:
        return {name: mean, f"{name}_low": None, f"{name}_high": None}
    half = float(student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
