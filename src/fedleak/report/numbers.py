"""Numbers as people read them: shares in percent, the rest with three digits, what is missing as a dash.

Rounding never lies about the two ends: a share that is not quite one is not shown as 100 %, a value
that is not quite zero is not shown as 0.
"""

from __future__ import annotations

import re
from math import isfinite

from fedleak.core.finding import Score

MISSING = "—"
SHARE_WORDS = frozenset({"accuracy", "share", "rate", "precision", "recall", "fraction", "recovered", "pixels"})
ACRONYMS = frozenset({"auc", "cbr", "mae", "mse", "psnr", "rmse", "ssim"})
AREA = "auc"
IN_WORDS = {
    "precision-among-surest": "precision among as many surest rows as there are positives",
    "precision-among-surest-tenth": "precision among the surest tenth of the rows (at most 1,000)",
    "true-positive-rate-at-1-percent": "true positive rate at 1 % false positives",
}


def metric_words(metric: str) -> str:
    """``mse-per-feature`` as ``MSE per feature``."""
    in_words = " ".join(word.upper() if word in ACRONYMS else word for word in _words(metric))
    return IN_WORDS.get(metric, in_words)


def is_share(metric: str) -> bool:
    """Whether the metric is a part of one, and so reads best in percent."""
    return not SHARE_WORDS.isdisjoint(_words(metric))


def percent(share: float | None) -> str:
    if share is None or not isfinite(share):
        return MISSING
    hundredths = 100 * share
    if 0 < hundredths < 0.05:
        return "<0.1 %"
    if 99.95 <= hundredths < 100:
        return ">99.9 %"
    return f"{hundredths:.1f}".removesuffix(".0") + " %"


def number(value: float | None) -> str:
    if value is None or not isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.2e}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def area(value: float | None) -> str:
    """Of a curve, from 0 to 1: ``0.97``, ``>0.999``."""
    if value is not None and 0.9995 <= value < 1:
        return ">0.999"
    return number(value)


def figure(metric: str, value: float | None) -> str:
    """A value of that metric."""
    if metric == AREA:
        return area(value)
    if metric.startswith("psnr"):
        return f"{number(value)} dB"
    return percent(value) if is_share(metric) else number(value)


def interval(score: Score) -> str:
    """The 95 % interval."""
    low, high = score.ci
    return f"{figure(score.metric, low)} to {figure(score.metric, high)}"


def duration(seconds: float) -> str:
    if not isfinite(seconds):
        return MISSING
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"


def count(n: int, one: str, many: str | None = None) -> str:
    """``1 leak``, ``2 leaks``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _words(metric: str) -> list[str]:
    return [word for word in re.split(r"[-_\s]+", metric) if word]
