"""What the alignment of identifiers speaks of: its steps, the names of its records, its public facts.

Everybody may read this: attacks, theorems and deviations know a protocol by these words alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedleak.core.arrays import IntArray
from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array, IntegerArray, Payload, Scalar, Tree
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

IDENTIFIERS: Step[IntArray] = Step(
    "setup.identifiers", Phase.SETUP, DATA_ROLES, "the people that a party puts into the alignment"
)
BLINDED: Step[IntegerArray] = Step(
    "setup.blinded-identifiers", Phase.SETUP, DATA_ROLES, "a party's identifiers as points of a curve, times its secret"
)
TWICE_BLINDED: Step[IntegerArray] = Step(
    "setup.twice-blinded-identifiers",
    Phase.SETUP,
    frozenset({Role.PASSIVE}),
    "the active party's points times the partner's secret as well: in their order, or shuffled",
)
SALT: Step[IntegerArray] = Step("setup.salt", Phase.SETUP, frozenset({Role.ACTIVE}), "what is hashed with identifiers")
DIGESTS: Step[IntegerArray] = Step(
    "setup.digests", Phase.SETUP, frozenset({Role.PASSIVE}), "salted digests of a party's identifiers"
)
MATCHING: Step[Payload] = Step(
    "setup.matching", Phase.SETUP, frozenset({Role.ACTIVE}), "the active party compares what it got"
)
COMMON_ROWS: Step[Array] = Step(
    "setup.common-rows", Phase.SETUP, frozenset({Role.ACTIVE}), "the people that all parties have"
)

PUT_IN = RecordName("put-in", DATA_ROLES, Array, "the people that a party put into the alignment")
CLAIMED = RecordName("claimed", DATA_ROLES, Scalar, "how many of them it does not have")
POINT_SECRET = RecordName("point-secret-for-", DATA_ROLES, Tree, "what it multiplies points by", "partner")
MATCHED_ROWS = RecordName(
    "matched-rows", frozenset({Role.ACTIVE}), Tree, "for each partner, which of the people put in it has too"
)
MATCHED_COUNTS = RecordName("matched-counts", frozenset({Role.ACTIVE}), Tree, "for each partner, how many these are")

MOST_IDENTIFIERS = 2**60
_STEP = 2**61 - 1  # a prime above every number of identifiers


def identifier_of(person: int, n_identifiers: int) -> int:
    """Who has which identifier is no secret: a directory lists it. Identifiers in order are people in no order."""
    return person * _STEP % n_identifiers


def person_of(identifier: int, n_identifiers: int) -> int:
    """Whose it is; a number beyond the table's rows is nobody's."""
    return identifier * pow(_STEP, -1, n_identifiers) % n_identifiers


def identifier_text(person: int, n_identifiers: int) -> bytes:
    """As it is hashed."""
    return str(identifier_of(person, n_identifiers)).encode()


@dataclass(frozen=True)
class AlignmentFacts(ProtocolFacts):
    kind: ClassVar[str] = "alignment"

    matching: str | None = None  # elliptic-curve or digests
    output: str | None = None  # rows, or their number
    told: str | None = None  # who learns the common rows: everybody, or the active party
    identifiers: int | None = None  # that there could be
    most_identifiers: int | None = None  # of one party; 0: any number
    everybody_at: tuple[str, ...] | None = None  # parties that have all people


VOCABULARY = Vocabulary(
    steps=(OWN_DATA, IDENTIFIERS, BLINDED, TWICE_BLINDED, SALT, DIGESTS, MATCHING, COMMON_ROWS),
    records=(FEATURES, LABELS, PUT_IN, CLAIMED, POINT_SECRET, MATCHED_ROWS, MATCHED_COUNTS),
    facts=(AlignmentFacts,),
)
