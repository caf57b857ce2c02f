"""A theorem is a list of preconditions, each checked on its own, and what follows if all hold.

Here are the parts that it is made of, and the preconditions that theorems of several topics share: noise, what the
protocol reveals, the sigmoid's approximation, and what lies outside the coalition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import DATA_ROLES
from fedleak.theory.countermeasures import Countermeasure

LINEAR_RESIDUALS = ("taylor", "exact")  # in the scores
APPROXIMATIONS = {
    "taylor": "its first-order Taylor polynomial",
    "cubic": "its cubic minimax polynomial",
    "piecewise": "a piecewise linear function",
}


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
    """``conclusion`` is what the theorem gives where it holds; ``remedies`` close what it opens, by any attack."""

    theorem: str
    conditions: tuple[Condition, ...]
    conclusion: str
    remedies: tuple[Countermeasure, ...] = ()

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


def approximated_by(kind: str, facts: Facts) -> Condition:
    return equals(f"the sigmoid is replaced by {APPROXIMATIONS[kind]}", facts.approximation, kind)


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


def outside_with_columns(facts: Facts) -> tuple[PartyFacts, ...]:
    """Data parties outside the coalition that hold a column, or may hold one."""
    return tuple(
        p for p in facts.parties if p.name not in facts.adversary and p.role in DATA_ROLES and p.n_features != 0
    )


def n_outside_features(facts: Facts) -> int | None:
    """Columns outside the coalition; None where a count is missing."""
    counts = [party.n_features for party in outside_with_columns(facts)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def one_outside_column(facts: Facts) -> Condition:
    """d_B = 1."""
    return _outside_columns(facts, "one single column lies outside the coalition", lambda count: count == 1)


def several_outside_columns(facts: Facts) -> Condition:
    """d_B >= 2."""
    return _outside_columns(facts, "two or more columns lie outside the coalition", lambda count: count >= 2)


def _outside_columns(facts: Facts, statement: str, wanted: Callable[[int], bool]) -> Condition:
    count = n_outside_features(facts)
    if count is None:
        return Condition(statement, State.UNKNOWN, "a party's number of columns is not known")
    return Condition(statement, State.HOLDS if wanted(count) else State.FAILS, f"{count} columns")


def batches_per_epoch(facts: Facts) -> int | None:
    """m = n / s, rounded up."""
    if facts.n_rows is None or facts.batch_size is None:
        return None
    return -(-facts.n_rows // facts.batch_size)
