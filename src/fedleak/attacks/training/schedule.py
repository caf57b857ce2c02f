"""The public schedule of a training: a round's rate and shrinkage, and how residuals depend on scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts


def rate_of(facts: Facts, round_number: int) -> float:
    """The learning rate of a round; with decay it is divided by sqrt(1 + epoch)."""
    if facts.learning_rate is None:
        raise MissingFromViewError("the learning rate must be public; it is not among the facts")
    if not facts.options.get("decay"):
        return facts.learning_rate
    if not facts.n_rows or not facts.batch_size:
        raise MissingFromViewError("with decay, the number of rows and the batch size must be public")
    return facts.learning_rate / sqrt(1 + round_number // -(-facts.n_rows // facts.batch_size))


def shrink_of(facts: Facts, round_number: int) -> float:
    """1 - rate l2: the factor on the weights in a step with L2 regularisation."""
    return 1.0 - rate_of(facts, round_number) * number_option(facts, "l2", 0.0)


def number_option(facts: Facts, name: str, default: float | None = None) -> float:
    value = facts.options.get(name, default)
    if not isinstance(value, int | float):
        raise MissingFromViewError(f"the public facts of {facts.protocol} must hold the number {name!r}")
    return float(value)


@dataclass(frozen=True)
class ResidualForm:
    """d = slope * (sum of all scores - target), target = scale * label + shift."""

    slope: float
    target_scale: float
    target_shift: float

    @classmethod
    def of(cls, facts: Facts) -> ResidualForm:
        return cls(
            number_option(facts, "residual_slope"),
            number_option(facts, "target_scale"),
            number_option(facts, "target_shift"),
        )

    def target(self, labels: AnyArray) -> FloatArray:
        return np.asarray(self.target_scale * labels + self.target_shift, dtype=np.float64)
