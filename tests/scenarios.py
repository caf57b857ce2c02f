"""One small scenario that tests vary by replacing lines."""

from __future__ import annotations

from fedleak.core.whole.randomness import RunKey

KEY = RunKey.published(0)  # noise that is the same in every run of the tests

SMALL = """
title = "small"
seed = 3
[data]
source = "sklearn:breast_cancer"
scaling = "standard+max-row-norm"
max_rows = 100
[federation]
protocol = "vertical-logistic"
cipher = "sealed"
batch_size = 8
epochs = 4
learning_rate = 0.1
[federation.partition]
by = "ratio"
[[federation.parties]]
name = "bank"
role = "active"
n_columns = 7
[[federation.parties]]
name = "fintech"
role = "passive"
n_columns = 23
[[adversary]]
parties = ["fintech"]
[[adversary]]
parties = ["bank"]
[[defense]]
name = "gaussian-noise"
sigma = 200.0
"""


def changed(*replacements: tuple[str, str]) -> str:
    """The scenario with lines replaced; a line that is not there is a mistake in the test."""
    text = SMALL
    for good, bad in replacements:
        assert good in text, good
        text = text.replace(good, bad, 1)
    return text
