"""Rounds in which a party is missing divide the records of a secure sum among those that hold them."""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.protocols.averaging.vocabulary import HorizontalLogisticFacts
from fedleak.theory.binary_uniqueness import BinaryUniqueness
from fedleak.theory.condition import Assessment, Condition, State, Theorem, revealed
from fedleak.theory.countermeasures import UPDATE_NOISE


class MissingParties(Theorem):
    """With all records known, a round without a party is d linear equations in how many of each kind each party has.

    Where nobody is ever missing, every message is the same for any division of the rows among parties of these sizes:
    whose is whose is not identifiable.
    """

    name = "fedleak/missing-parties"
    summary = "rounds without a party tell whose records are whose"
    reference = Reference("fedleak", "beyond li2019, section 3.4")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                *BinaryUniqueness.assess(facts).conditions,
                revealed(Capability.SENDERS, facts),
                somebody_missing(facts),
                _general_position(),
            ),
            conclusion="the records of all outside divide in one way",
            remedies=(UPDATE_NOISE,),
        )

    @classmethod
    def if_fails(cls, facts: Facts) -> Verdict:
        """Without a missing party it is impossible; else records that are not all known leave it open."""
        return Verdict.IMPOSSIBLE if somebody_missing(facts).state is State.FAILS else Verdict.UNKNOWN


def somebody_missing(facts: Facts) -> Condition:
    statement = "a party outside is missing in some round"
    lost = facts.of(HorizontalLogisticFacts).dropouts
    if lost is None:
        return Condition(statement, State.UNKNOWN, "who is missing when is not known")
    outside = {party.name for party in facts.with_role(Role.ACTIVE)} - set(facts.adversary)
    names = sorted({one.party for one in lost if one.party in outside})
    return Condition(statement, State.HOLDS if names else State.FAILS, ", ".join(names) or "nobody is")


def _general_position() -> Condition:
    return Condition(
        "the rounds without somebody tell kinds of records apart",
        State.UNKNOWN,
        "d equations each; it shows in the run",
    )
