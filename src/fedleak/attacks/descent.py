"""The public course of gradient descent: each round's rate, and what regularisation leaves of the weights."""

from __future__ import annotations

from math import sqrt

from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts


def rate_in(facts: Facts, round_number: int) -> float:
    """The learning rate of a round; a protocol with decay divides it by sqrt(1 + epoch)."""
    if facts.learning_rate is None:
        raise MissingFromViewError("the learning rate must be public; it is not among the facts")
    if not facts.options.get("decay"):
        return facts.learning_rate
    if not facts.n_rows or not facts.batch_size:
        raise MissingFromViewError("with decay, the number of rows and the batch size must be public")
    return facts.learning_rate / sqrt(1 + round_number // -(-facts.n_rows // facts.batch_size))


def shrink_in(facts: Facts, round_number: int) -> float:
    """1 - rate l2: the factor on the weights in a step with L2 regularisation."""
    l2 = facts.options.get("l2", 0.0)
    return 1.0 - rate_in(facts, round_number) * (float(l2) if isinstance(l2, int | float) else 0.0)
