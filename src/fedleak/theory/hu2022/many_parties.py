"""Theorem 4.10: the label attack does not depend on how many parties there are."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals
from fedleak.theory.hu2022.label_by_sign import whole_first_epoch
from fedleak.theory.hu2022.small_initialisation import first_score_bound, small_start
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals


class ManyParties(Theorem):
    """The criterion needs the whole score to be small, not to be one partner's. A coalition counts as one party
    whose columns are all of its members'."""

    name = "hu2022/theorem-4.10"
    summary = "with three or more parties, each that holds enough columns reads the labels off the sign"
    reference = Reference("hu2022", "theorem 4.10")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        bound = first_score_bound(facts)
        return Assessment(
            cls.name,
            (
                _three_or_more(facts),
                _not_the_label_party(facts),
                *UniqueResiduals.assess(facts).conditions,
                equals("the sigmoid is replaced by its first-order Taylor polynomial", facts.approximation, "taylor"),
                small_start(bound, "the first scores are below 2 in absolute value (eq. 32)"),
                whole_first_epoch(facts, first_score=0.0 if bound is None else bound),
            ),
            conclusion="every label is determined in the first epoch",
            remedy='initialisation = "normal", or noise on the shared scores',
        )


def _three_or_more(facts: Facts) -> Condition:
    count = len([party for party in facts.parties if party.role in (Role.ACTIVE, Role.PASSIVE)])
    return Condition("three or more data parties", State.HOLDS if count >= 3 else State.FAILS, f"{count} parties")


def _not_the_label_party(facts: Facts) -> Condition:
    statement = "the adversary does not hold the labels"
    if facts.capabilities is None:
        return Condition(statement, State.UNKNOWN, "what the protocol reveals is not known")
    holds = Capability.LABELS in facts.capabilities
    return Condition(statement, State.FAILS if holds else State.HOLDS, ", ".join(facts.adversary))
