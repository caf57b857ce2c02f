"""A protocol's settings: a frozen dataclass whose fields carry their own documentation.

The scenario parser, the generated reference page and the defenses all read these fields, so a
setting exists in one place only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Base of every protocol's settings."""


def setting(default: Any, about: str, *, unit: str = "", choices: tuple[str, ...] = ()) -> Any:
    """A dataclass field with its meaning, unit and allowed values."""
    return field(default=default, metadata={"about": about, "unit": unit, "choices": choices})
