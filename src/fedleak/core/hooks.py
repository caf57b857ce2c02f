"""One mechanism for what honest parties add (defenses) and dishonest ones change (deviations)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from fedleak.core.payload import Payload
from fedleak.core.steps import Role, Step


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

    def record(self, step: Step[Any], name: str, value: Payload) -> None:
        """Keep something for later; it is part of the party's view."""

    def latest(self, name: str) -> Payload:
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
