"""Named steps, the only places where hooks act and messages arise, and the names of what parties keep there.

Each family of protocols has its own in its ``vocabulary``; here is what they are made of, and what all of them have.
A ``Step`` is generic in the value that hooks see there, so that a defense written for
floating-point vectors cannot be attached to a step that handles ciphertexts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from fedleak.core.arrays import FloatArray
from fedleak.core.payload import Array, Table


class Role(StrEnum):
    ACTIVE = "active"  # holds the labels
    PASSIVE = "passive"
    ARBITER = "arbiter"
    SERVER = "server"


class Phase(StrEnum):
    SETUP = "setup"
    TRAIN = "train"
    PREDICT = "predict"


ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Step(Generic[ValueT]):
    name: str
    phase: Phase
    roles: frozenset[Role]  # who acts at it
    about: str
    marks_round: bool = False  # one public message of this step is one round of the protocol

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RecordName:
    """Under what name a party keeps something, who does, as which kind of payload, and what it is.

    ``for_each``: the name is a beginning, and there is a record for each of these; ``of`` completes it.
    """

    name: str
    roles: frozenset[Role]
    payload: type
    about: str
    for_each: str = ""

    def __str__(self) -> str:
        return self.name

    def of(self, which: str) -> RecordName:
        return replace(self, name=self.name + which, for_each="")

    def covers(self, name: str) -> bool:
        return name.startswith(self.name) if self.for_each else name == self.name


DATA_ROLES = frozenset({Role.ACTIVE, Role.PASSIVE})  # who holds columns or labels

OWN_DATA: Step[FloatArray] = Step("setup.own-data", Phase.SETUP, DATA_ROLES, "a party's feature rows enter")

FEATURES = RecordName("features", DATA_ROLES, Table, "a party's own rows, as it puts them in")
LABELS = RecordName("labels", frozenset({Role.ACTIVE}), Table, "the labels of its rows, 0/1, classes or numbers")
NOISE = RecordName("noise", DATA_ROLES, Array, "what a defense added to the copy that the party sent")
