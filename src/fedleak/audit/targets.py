"""What there is to learn from whom."""

from __future__ import annotations

from fedleak.core.facts import PartyFacts
from fedleak.core.secret import JOINT, Secret, SecretKind, together
from fedleak.core.steps import Role

DATA_ROLES = (Role.ACTIVE, Role.PASSIVE)
POOLED = (SecretKind.RECORDS, SecretKind.COLUMN_PRODUCTS)  # of all outside the coalition: a sum hides whose is what


def targets(kind: SecretKind, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]) -> list[Secret]:
    """The secrets of a kind that the coalition does not own itself."""
    outside = [party for party in parties if party.name not in coalition and party.role in DATA_ROLES]
    if kind is SecretKind.RESIDUALS:
        return [Secret(kind, JOINT)] if outside else []
    if kind in POOLED:
        return [Secret(kind, together(party.name for party in outside))] if outside else []
    if kind is SecretKind.LABELS:
        return [Secret(kind, party.name) for party in outside if party.role is Role.ACTIVE]
    return [Secret(kind, party.name) for party in outside if party.n_features != 0]
