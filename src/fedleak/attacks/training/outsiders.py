"""Who stands outside a coalition, and what that leaves mixed up."""

from __future__ import annotations

from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role


def outsiders(facts: Facts, coalition: tuple[str, ...]) -> tuple[PartyFacts, ...]:
    """Parties with columns that are not in the coalition."""
    return tuple(
        party for party in facts.parties if party.name not in coalition and party.role in (Role.ACTIVE, Role.PASSIVE)
    )


def mixed_scores(facts: Facts, coalition: tuple[str, ...]) -> str | None:
    """Why the scores of a single victim cannot be told apart, or None where they can."""
    others = outsiders(facts, coalition)
    if len(others) <= 1:
        return None
    names = " and ".join(party.name for party in others)
    return f"the scores of {names} reach the coalition as one sum; a coalition with the arbiter sees them apart"
