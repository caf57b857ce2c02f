"""What the defenses of horizontal training share: they change settings that only its protocols have."""

from __future__ import annotations

from dataclasses import fields

from fedleak.core.errors import InputError
from fedleak.core.federation import Federation


def with_fitting_settings(defense: str, federation: Federation, **changes: object) -> Federation:
    """Change settings; an error that names the protocol where it lacks one of them."""
    known = {field.name for field in fields(federation.settings)}
    for name in changes:
        if name not in known:
            raise InputError(f"{defense} must be used with a protocol that has the setting {name}; "
                             f"{federation.protocol} has not")  # fmt: skip
    return federation.with_settings(**changes)
