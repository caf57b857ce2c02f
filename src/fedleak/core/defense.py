"""What an honest party does against leaks."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook
from fedleak.core.steps import Step


@dataclass(frozen=True)
class Defense(ABC):
    """Changes settings, or acts at named steps, or both; it says which, and touches nothing else.

    Parameters are fields of the frozen dataclass that every defense is.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]
    changes: ClassVar[frozenset[str]] = frozenset()  # settings
    acts_at: ClassVar[frozenset[Step[Any]]] = frozenset()

    def configure(self, federation: Federation) -> Federation:
        return federation

    def declare(self, facts: Facts) -> Facts:
        """What everybody knows of the defense: an adversary knows the method, not the random draws."""
        return facts

    def notes(self, federation: Federation) -> tuple[str, ...]:
        """What the defense promises in this federation and what it does not, for the report."""
        return ()

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return ()
