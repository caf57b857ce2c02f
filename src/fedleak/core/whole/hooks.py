"""Hooks at named steps: one mechanism for what honest parties add (defenses) and dishonest ones change (deviations)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fedleak.core.arrays import read_only
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.payload import Payload
from fedleak.core.steps import RecordName, Role, Step
from fedleak.core.whole.federation import Federation


class HookKind(StrEnum):
    INPUT = "input"  # a party's own data
    COMPUTE = "compute"  # replaces what the party computes at the step
    SEND = "send"  # the outgoing copy only
    RECEIVE = "receive"  # what the party takes in


class LocalState(Protocol):
    """What a hook may touch: the state of its own party, and nobody else's."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> Role: ...

    @property
    def round(self) -> int: ...

    def record(self, step: Step[Any], name: RecordName, value: Payload) -> None:
        """Keep something for later; it is part of the party's view."""

    def latest(self, name: RecordName) -> Payload:
        """The party's last record of that name."""


ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Hook(Generic[ValueT]):
    """``act(value, local, rng)`` at one step of one party.

    For ``input``, ``send`` and ``receive`` the value goes in and comes out. For ``compute`` the step's
    inputs go in, as the protocol documents them, and the step's value comes out.
    """

    step: Step[ValueT]
    kind: HookKind
    party: str
    act: Callable[[Any, LocalState, np.random.Generator], ValueT]


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
    chooses: ClassVar[Mapping[str, str]] = read_only({})  # of these settings, the values that they get by name
    acts_at: ClassVar[frozenset[Step[Any]]] = frozenset()

    @property
    def label(self) -> str:
        """The defense with its parameters, short enough for a table: gaussian-noise(sigma=20)."""
        changed = [field for field in fields(self) if getattr(self, field.name) != field.default]
        shown = [f"{field.name}={getattr(self, field.name)!r}" for field in changed]
        return f"{self.name}({', '.join(shown)})" if shown else self.name

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
