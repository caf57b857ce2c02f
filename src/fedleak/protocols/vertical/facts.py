"""What vertically federated linear models make public, and what they leave a coalition to work with."""

from __future__ import annotations

from fedleak.core.capability import Capability
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.settings import Settings
from fedleak.core.steps import Role
from fedleak.protocols.vertical.settings import VerticalLinearSettings

OF_A_MEMBER = frozenset(
    {
        Capability.OWN_FEATURES,
        Capability.OWN_WEIGHTS,
        Capability.OWN_GRADIENT,
        Capability.BATCH_IDS,
        Capability.CIPHERTEXTS,
        Capability.TWO_CLASSES,
    }
)


def linear_facts(
    protocol: str, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None, *, approximation: str
) -> Facts:
    if not isinstance(settings, VerticalLinearSettings):
        raise InputError(f"settings must be those of a vertical linear model; got {type(settings).__name__}")
    return Facts(
        protocol=protocol,
        parties=parties,
        n_rows=n_rows,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        initialisation=settings.initialisation,
        approximation=approximation,
        cipher=settings.cipher,
        key_bits=settings.key_bits,
        fraction_bits=settings.fraction_bits,
        options={"shuffle": settings.shuffle},
    )


def member_capabilities(parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]) -> frozenset[Capability]:
    """What the data-holding members of a coalition have."""
    roles = {party.role for party in parties if party.name in coalition}
    found: frozenset[Capability] = frozenset()
    if roles & {Role.ACTIVE, Role.PASSIVE}:
        found |= OF_A_MEMBER
    if Role.ACTIVE in roles:
        found |= {Capability.LABELS}
    return found
