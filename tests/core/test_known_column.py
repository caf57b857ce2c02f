"""What is declared of a column is checked where it is declared: attacks compute with it."""

from __future__ import annotations

from math import inf, nan

import pytest

from fedleak.core.knowledge import KnownColumn


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ({"step": nan}, "finite"),
        ({"step": 1.0, "slack": nan}, "finite"),
        ({"low": -inf}, "finite"),
        ({"high": inf}, "finite"),
        ({"low": 3.0, "high": 0.0}, "low must be at most high"),
        ({"step": 0.0}, "step must be above 0"),
        ({"step": -1.0}, "step must be above 0"),
        ({"step": 1.0, "slack": -1e-9}, "slack 0 or more"),
    ],
)
def test_nonsense_is_refused(declared, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        KnownColumn("fintech", "age", **declared)
    assert "'age'" in str(caught.value)
