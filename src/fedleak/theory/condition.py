"""A theorem here is a list of preconditions, each checked on its own, and what follows if all hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts


class State(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Condition:
    statement: str
    state: State
    detail: str  # the figures, or what is missing


@dataclass(frozen=True)
class Assessment:
    """``conclusion`` is what the theorem gives where it holds; ``remedy`` what breaks a condition."""

    theorem: str
    conditions: tuple[Condition, ...]
    conclusion: str
    remedy: str = ""

    @property
    def state(self) -> State:
        states = {condition.state for condition in self.conditions}
        if State.FAILS in states:
            return State.FAILS
        return State.UNKNOWN if State.UNKNOWN in states else State.HOLDS

    @property
    def reasons(self) -> tuple[str, ...]:
        """The conditions in one line each, those that decide first."""
        order = (State.FAILS, State.UNKNOWN, State.HOLDS)
        ranked = sorted(self.conditions, key=lambda condition: order.index(condition.state))
        return tuple(f"{c.statement}: {c.state.value} ({c.detail})" for c in ranked)


class Theorem(ABC):
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]

    @classmethod
    @abstractmethod
    def assess(cls, facts: Facts) -> Assessment:
        """Check every precondition against the facts."""


def at_most(statement: str, small: float | None, large: float | None) -> Condition:
    if small is None or large is None:
        return Condition(statement, State.UNKNOWN, "a figure is missing")
    return Condition(statement, State.HOLDS if small <= large else State.FAILS, f"{small:g} and {large:g}")


def equals(statement: str, actual: str | None, wanted: str) -> Condition:
    if actual is None:
        return Condition(statement, State.UNKNOWN, "not known")
    return Condition(statement, State.HOLDS if actual == wanted else State.FAILS, f"it is {actual}")


def no_noise(facts: Facts) -> Condition:
    statement = "no noise is on the shared scores"
    if facts.score_noise is None:
        return Condition(statement, State.UNKNOWN, "not known")
    state = State.HOLDS if facts.score_noise == 0 else State.FAILS
    return Condition(statement, state, f"standard deviation {facts.score_noise:g}")


def revealed(capability: Capability, facts: Facts) -> Condition:
    statement = f"the adversary has {capability.value}"
    if facts.capabilities is None:
        return Condition(statement, State.UNKNOWN, "what the protocol reveals is not known")
    state = State.HOLDS if capability in facts.capabilities else State.FAILS
    return Condition(statement, state, f"protocol {facts.protocol}")
