"""A protocol's settings: a frozen dataclass whose fields carry their own documentation.

The scenario parser, the generated reference page and the defenses all read these fields, so a
setting exists in one place only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from fedleak.core.errors import InputError


@dataclass(frozen=True)
class Settings:
    """Base of every protocol's settings."""


SettingsT = TypeVar("SettingsT", bound=Settings)


def settings_of(protocol: str, kind: type[SettingsT], settings: Settings) -> SettingsT:
    """The settings as those of one protocol; an error where they belong to another."""
    if not isinstance(settings, kind):
        raise InputError(f"settings must be those of {protocol}; got {type(settings).__name__}")
    return settings


def setting(default: Any, about: str, *, unit: str = "", choices: tuple[str, ...] = ()) -> Any:
    """A dataclass field with its meaning, unit and allowed values."""
    return field(default=default, metadata={"about": about, "unit": unit, "choices": choices})
