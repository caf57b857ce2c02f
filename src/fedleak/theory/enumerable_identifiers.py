"""What an alignment of identifiers tells: of one's own people, of whoever one names, of whoever can be guessed."""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.protocols.alignment.vocabulary import AlignmentFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, revealed
from fedleak.theory.countermeasures import SIZE_ALONE

MOST_NAMED = 20_000  # identifiers that a dishonest party puts in; a phone book takes hours, not years
MOST_HASHED = 2**17  # digests that are tried: seconds of a budget of ours, not of what an adversary has
CONCLUSION = "of every person it is determined whether the partner has it"


class AlignedPeople(Theorem):
    """The output of an alignment says of each person that was put in whether the partner has it. That is its purpose.

    Of others it says nothing: under the decisional Diffie-Hellman assumption on Curve25519, with the hash as a random
    oracle, whoever follows the protocol could have made all other messages from the output and the sizes alone.
    """

    name = "fedleak/aligned-people"
    summary = "an alignment tells of every person that one put in whether the partner has it, and of nobody else"
    reference = Reference("meadows1986", "section 3")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        conditions = (revealed(Capability.ALIGNED_ROWS, facts), _pair_compared(facts), _has_everybody(facts))
        return Assessment(cls.name, conditions, conclusion=CONCLUSION, remedies=(SIZE_ALONE,))

    @classmethod
    def if_fails(cls, facts: Facts) -> Verdict:
        given = revealed(Capability.ALIGNED_ROWS, facts).state is State.HOLDS
        return Verdict.PARTIAL if given else Verdict.IMPOSSIBLE


class NamedPeople(Theorem):
    """What is put in is the party's own choice, and no message shows whether it has those people: a set of all
    identifiers that there could be takes the partner's list. A bound on the size of sets bounds the share of it."""

    name = "fedleak/named-people"
    summary = "whoever puts all possible identifiers into an alignment learns a partner's whole list"
    reference = Reference("fedleak", "docs/theory/alignment.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        conditions = (revealed(Capability.ALIGNED_ROWS, facts), _pair_compared(facts), all_can_be_named(facts))
        return Assessment(cls.name, conditions, conclusion=CONCLUSION, remedies=(SIZE_ALONE,))


class HashedPeople(Theorem):
    """A digest hides an identifier as far as it cannot be guessed, salt or no salt: the salt is known to both."""

    name = "fedleak/hashed-people"
    summary = "digests of identifiers that can be enumerated are the identifiers"
    reference = Reference("fedleak", "docs/theory/alignment.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        statement = f"there are at most {MOST_HASHED:,} identifiers to hash"
        conditions = (revealed(Capability.IDENTIFIER_DIGESTS, facts), _at_most(statement, facts, MOST_HASHED))
        return Assessment(cls.name, conditions, conclusion=CONCLUSION, remedies=(SIZE_ALONE,))


def all_can_be_named(facts: Facts) -> Condition:
    limit = facts.of(AlignmentFacts).most_identifiers
    statement = "a partner accepts a set of all identifiers that there could be, and it can be had"
    if limit is None:
        return Condition(statement, State.UNKNOWN, "how large a set may be is not known")
    return _at_most(statement, facts, min(limit or MOST_NAMED, MOST_NAMED))


def _at_most(statement: str, facts: Facts, most: int) -> Condition:
    count = facts.of(AlignmentFacts).identifiers
    if count is None:
        return Condition(statement, State.UNKNOWN, "how many identifiers there could be is not known")
    state = State.HOLDS if count <= most else State.FAILS
    return Condition(statement, state, f"{count:,} identifiers, {most:,} guesses")


def _pair_compared(facts: Facts) -> Condition:
    """The active party compares pair by pair; others hear whom all have."""
    statement = "the adversary compares each pair, or everybody else is on its side"
    names = [party.name for party in facts.parties if party.role in DATA_ROLES]
    active = {party.name for party in facts.with_role(Role.ACTIVE)}
    alone = len(set(names) - set(facts.adversary)) == 1
    if active & set(facts.adversary):
        return Condition(statement, State.HOLDS, "the active party is the adversary's")
    return Condition(statement, State.HOLDS if alone else State.FAILS, f"{len(names)} parties")


def _has_everybody(facts: Facts) -> Condition:
    statement = "the adversary has all people itself"
    everybody_at = facts.of(AlignmentFacts).everybody_at
    if everybody_at is None:
        return Condition(statement, State.UNKNOWN, "who has all people is not known")
    having = sorted(set(everybody_at) & set(facts.adversary))
    active = {party.name for party in facts.with_role(Role.ACTIVE)} & set(facts.adversary)
    # What the active party compares are its own people; what others hear are people that all of them put in.
    needed = active or (set(facts.adversary) & {p.name for p in facts.parties if p.role in DATA_ROLES})
    holds = bool(needed) and needed <= set(having)
    return Condition(statement, State.HOLDS if holds else State.FAILS, ", ".join(having) or "none has")
