"""What the protocol speaks of: steps, a record and facts that no other has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array, Tree
from fedleak.core.steps import FEATURES, LABELS, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

SHIFTED_ROWS: Step[Array] = Step(
    "train.shifted-rows",
    Phase.TRAIN,
    frozenset({Role.PASSIVE}),
    "a party's rows plus an offset that everybody knows",
    marks_round=True,
)
SHIFTED_SPLITS: Step[Tree] = Step(
    "train.shifted-splits",
    Phase.TRAIN,
    frozenset({Role.PASSIVE}),
    "the split points of a party's columns plus that offset, with the tree and the node of each",
)
SHIFTED_PICTURES: Step[Array] = Step(
    "train.shifted-pictures", Phase.TRAIN, frozenset({Role.PASSIVE}), "a picture of each row plus that offset"
)
OWN_OFFSET = RecordName("own-offset", frozenset({Role.PASSIVE}), Array, "what the party added to its rows")


@dataclass(frozen=True)
class ToyFacts(ProtocolFacts):
    kind: ClassVar[str] = "toy-shift"

    offset: float | None = None
    silent: tuple[str, ...] | None = None  # parties that send nothing
    n_splits: int | None = None  # of each column
    blur: float | None = None  # deviation of the noise that a defense adds


VOCABULARY = Vocabulary(
    (OWN_DATA, SHIFTED_ROWS, SHIFTED_SPLITS, SHIFTED_PICTURES), (FEATURES, LABELS, OWN_OFFSET), (ToyFacts,)
)
