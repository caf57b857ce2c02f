"""What a dishonest party does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.hooks import Hook
from fedleak.core.steps import Step


class Deviation(ABC):
    """A party's dishonest behaviour, as hooks at named steps of that party."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]
    acts_at: ClassVar[frozenset[Step[Any]]]

    def informed(self, facts: Facts) -> Deviation:
        """The same behaviour, fitted to what is public; by default it needs nothing."""
        return self

    @abstractmethod
    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        """The hooks of the dishonest party."""
