"""Section 4.1: with as many own columns as batch rows, the own gradient gives the partner's scores."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, no_noise, revealed


def one_outsider(facts: Facts) -> Condition:
    """With two parties outside, their scores are one sum."""
    statement = "one party with columns is outside the coalition"
    outside = [
        party.name
        for party in facts.parties
        if party.role in (Role.ACTIVE, Role.PASSIVE) and party.name not in facts.adversary
    ]
    return Condition(statement, State.HOLDS if len(outside) == 1 else State.FAILS, f"outside: {', '.join(outside)}")


class ScoreRecovery(Theorem):
    """g = X^T d / m + l2 w has one solution d if the batch's own rows are independent; d gives the partner's z.

    The paper's "records are rarely dependent" is a statement on data; the attack checks the rank of the real batches.
    """

    name = "li2021/section-4.1"
    summary = "with batch size <= own features, the active party learns the partner's score of every row"
    reference = Reference("li2021", "section 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        width = facts.n_adversary_features
        return Assessment(
            cls.name,
            (
                at_most("batch size is at most the adversary's features", facts.batch_size, width),
                revealed(Capability.OWN_GRADIENT, facts),
                revealed(Capability.LABELS, facts),
                one_outsider(facts),
                no_noise(facts),
            ),
            conclusion="every partial score of every batch is determined",
            remedy="" if width is None else f"batch_size = {width + 1} or more (fake features undo this)",
        )
