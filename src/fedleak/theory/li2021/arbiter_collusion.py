"""The multi-party case of section 4.1: what a coalition with the arbiter needs."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, revealed


class ArbiterCollusion(Theorem):
    """The paper asks for more rows than columns; what it takes is one independent residual vector for each row.

    The number of the victim's columns plays no part. Without shuffling, residuals are a Krylov sequence of one matrix
    and turn collinear: then rows are not determined, however many rounds there are.
    """

    name = "li2021/arbiter-collusion"
    summary = "with the arbiter's key, one independent residual vector a row determines every party's rows"
    reference = Reference("li2021", "section 4.1, multi-party")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        l2 = facts.options.get("l2")
        unknowns = None if facts.n_rows is None else facts.n_rows + (1 if l2 else 0)
        return Assessment(
            cls.name,
            (
                revealed(Capability.DECRYPTION_KEY, facts),
                revealed(Capability.ALL_GRADIENTS, facts),
                revealed(Capability.CIPHERTEXTS, facts),
                at_most("there are as many rounds as unknowns of a column", unknowns, facts.n_rounds),
                _shuffled(facts),
            ),
            conclusion="every row of every other party is determined",
            remedy="shuffle = false with a large batch, or an arbiter that no data party can talk to",
        )


def _shuffled(facts: Facts) -> Condition:
    statement = "batches are drawn anew in every epoch"
    shuffle = facts.options.get("shuffle")
    if shuffle is None:
        return Condition(statement, State.UNKNOWN, "not known")
    if facts.batch_size is not None and facts.n_rows is not None and facts.batch_size >= facts.n_rows:
        return Condition(statement, State.FAILS, "one batch of all rows recurs")
    return Condition(statement, State.HOLDS if shuffle else State.FAILS, f"shuffle is {str(shuffle).lower()}")
