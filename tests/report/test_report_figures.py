"""Numbers and names as people read them: rounding does not lie, and control characters are not obeyed."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.visible_text import visible
from fedleak.report.numbers import duration, figure, metric_words, number, percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (0.123, "12.3 %"), (0.9999, ">99.9 %"), (0.0001, "<0.1 %"),
        (None, "—"), (nan, "—"), (inf, "—"), (-0.1, "-10 %"),
    ],
)  # fmt: skip
def test_percent(share: float | None, text: str) -> None:
    assert percent(share) == text


@given(st.floats(min_value=1e-12, max_value=1 - 1e-12))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_what_is_not_quite_all_or_nothing_is_not_shown_as_such(share: float) -> None:
    assert percent(share) not in {"0 %", "100 %"}
    assert number(share) != "0"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (12345.6, "12,346"),
        (2e12, "2.00e+12"),
        (0.0312, "0.0312"),
        (2.1e-13, "2.1e-13"),
        (nan, "—"),
        (None, "—"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


def test_metrics_and_times_in_words() -> None:
    assert metric_words("mse_per-feature") == "MSE per feature"
    assert figure("correct-branching-rate", 0.5) == "50 %"
    assert figure("mse", 0.5) == "0.5"
    assert [duration(seconds) for seconds in (0.05, 3.21, 300, nan)] == ["50 ms", "3.2 s", "5 min", "—"]


def test_visible_leaves_ordinary_text_alone() -> None:
    assert visible("Zürich 東京 – naïve\n\ttab") == "Zürich 東京 – naïve\n\ttab"
    assert visible("a\x1b\x9b\ud800\u2066") == r"a\x1b\x9b\ud800\u2066"
