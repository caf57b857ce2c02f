"""A server that tells parties different lists of who sent: what it takes to open one of them, and what rules it out."""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.protocols.averaging.vocabulary import HorizontalLogisticFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, revealed
from fedleak.theory.countermeasures import UPDATE_NOISE
from fedleak.theory.horizontal_rounds import LinearUpdate


class DividedLists(Theorem):
    """With t of n shares to open a secret and c parties on the server's side, key and seed of one party take 2(t − c)
    honest answers, each of which opens one of the two: possible where 2t ≤ n + c, and never where 2t > n + c.

    Bonawitz et al. prove privacy under the latter (theorem 6.5). A list that t parties must confirm needs a colluder
    that confirms two; whether one does is not told by what is public.
    """

    name = "fedleak/divided-lists"
    summary = "a lying server opens single updates where twice the threshold is at most all parties and its colluders"
    reference = Reference("bonawitz2017", "theorem 6.5")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                revealed(Capability.OPENED_SHARES, facts),
                low_threshold(facts),
                unconfirmed(facts),
                *LinearUpdate.assess(facts).conditions,
            ),
            conclusion="α = XᵀX and β = XᵀY of each party's own rows are determined",
            remedies=(UPDATE_NOISE,),
        )

    @classmethod
    def if_fails(cls, facts: Facts) -> Verdict:
        """No update is opened where the threshold is high enough; a confirmed list takes a colluder that lies too."""
        if low_threshold(facts).state is State.FAILS:
            return Verdict.IMPOSSIBLE
        return Verdict.UNKNOWN if unconfirmed(facts).state is State.FAILS else Verdict.PARTIAL


def low_threshold(facts: Facts) -> Condition:
    statement = "twice the threshold is at most all parties and those that collude"
    threshold = facts.of(HorizontalLogisticFacts).recovery_threshold
    if threshold is None:
        return Condition(statement, State.UNKNOWN, "the threshold is not known")
    if threshold == 0:
        return Condition(statement, State.FAILS, "no shares are dealt")
    names = [party.name for party in facts.with_role(Role.ACTIVE)]
    colluders = len(set(names) & set(facts.adversary))
    holds = 2 * threshold <= len(names) + colluders
    detail = f"2 · {threshold} against {len(names)} + {colluders}"
    return Condition(statement, State.HOLDS if holds else State.FAILS, detail)


def unconfirmed(facts: Facts) -> Condition:
    statement = "parties do not confirm to one another which list they heard"
    confirmed = facts.of(HorizontalLogisticFacts).confirm_senders
    if confirmed is None:
        return Condition(statement, State.UNKNOWN, "not known")
    return Condition(statement, State.FAILS if confirmed else State.HOLDS, "they do" if confirmed else "they do not")
