"""What the protocol speaks of: a step, a record and facts that no other has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES, LABELS, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

SHIFTED_ROWS: Step[Array] = Step(
    "train.shifted-rows",
    Phase.TRAIN,
    frozenset({Role.PASSIVE}),
    "a party's rows plus an offset that everybody knows",
    marks_round=True,
)
OWN_OFFSET = RecordName("own-offset", frozenset({Role.PASSIVE}), Array, "what the party added to its rows")


@dataclass(frozen=True)
class ToyFacts(ProtocolFacts):
    kind: ClassVar[str] = "toy-shift"

    offset: float | None = None
    silent: tuple[str, ...] | None = None  # parties that send nothing
    blur: float | None = None  # deviation of the noise that a defense adds


VOCABULARY = Vocabulary((OWN_DATA, SHIFTED_ROWS), (FEATURES, LABELS, OWN_OFFSET), (ToyFacts,))
