"""A theorem here is a list of preconditions, each checked on its own, and what follows if all hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import Role

LINEAR_RESIDUALS = ("taylor", "exact")  # in the scores
DATA_ROLES = (Role.ACTIVE, Role.PASSIVE)


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
    """Of the adversary's own noise only what members of a coalition add to each other's gradients matters, and from a
    residual that is linear in the scores they take it off."""
    statement = "no noise is on the scores that others share"
    if _several_members(facts) and _own_noise_stays(facts):
        return Condition(statement, State.FAILS, f"members add noise of deviation {facts.own_noise:g} to each other's")
    if facts.outside_noise is None:
        return Condition(statement, State.UNKNOWN, "not known")
    state = State.HOLDS if facts.outside_noise == 0 else State.FAILS
    return Condition(statement, state, f"standard deviation {facts.outside_noise:g}")


def course_known(facts: Facts) -> Condition:
    """The victim trains with the noise that the adversary adds; what that does to its weights is known where the
    residual is linear in the scores."""
    statement = "the adversary knows what the victim trains with"
    if facts.own_noise is None:
        return Condition(statement, State.UNKNOWN, "whether it adds noise itself is not known")
    state = State.FAILS if _own_noise_stays(facts) else State.HOLDS
    return Condition(statement, state, f"own noise of deviation {facts.own_noise:g}")


def _own_noise_stays(facts: Facts) -> bool:
    return bool(facts.own_noise) and facts.approximation not in LINEAR_RESIDUALS


def _several_members(facts: Facts) -> bool:
    return len([name for name in facts.adversary if facts.party(name).role in DATA_ROLES]) > 1


def revealed(capability: Capability, facts: Facts) -> Condition:
    statement = f"the adversary has {capability.value}"
    if facts.capabilities is None:
        return Condition(statement, State.UNKNOWN, "what the protocol reveals is not known")
    state = State.HOLDS if capability in facts.capabilities else State.FAILS
    return Condition(statement, state, f"protocol {facts.protocol}")
