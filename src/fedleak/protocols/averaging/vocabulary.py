"""What horizontal training speaks of: its steps, the names of its records, its public facts.

Everybody may read this: attacks, theorems and defenses know a protocol by these words alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array, Payload, Scalar, Tree
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, NOISE, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

ROW_COUNT: Step[Payload] = Step("setup.row-count", Phase.SETUP, DATA_ROLES, "a party says how many rows it holds")
ROW_IDS: Step[IntArray] = Step("setup.row-ids", Phase.SETUP, DATA_ROLES, "how a party numbers its rows, public")
AGREEMENT_KEY: Step[Payload] = Step(
    "setup.agreement-key", Phase.SETUP, DATA_ROLES, "a party's public Diffie-Hellman key, for masks between pairs"
)
FIRST_MODEL: Step[FloatArray] = Step(
    "setup.first-model", Phase.SETUP, frozenset({Role.SERVER}), "the common first weights, from the server"
)
LOCAL_UPDATE: Step[FloatArray] = Step(
    "train.local-update", Phase.TRAIN, DATA_ROLES, "what a party's own rows change of the model, before masking"
)
ROUND_KEY: Step[Payload] = Step(
    "train.round-key", Phase.TRAIN, DATA_ROLES, "a party's public key of the round, and a commitment to its seed"
)
SEED_SHARES: Step[Payload] = Step(
    "train.seed-shares", Phase.TRAIN, DATA_ROLES, "sealed shares of a party's key and seed, for a partner"
)
MASKED_UPDATE: Step[Payload] = Step(
    "train.masked-update", Phase.TRAIN, DATA_ROLES, "that update under masks which cancel in the sum"
)
SENDERS: Step[Payload] = Step(
    "train.senders",
    Phase.TRAIN,
    frozenset({Role.SERVER}),
    "whose masked updates came in, public; one that tells parties different lists sends each its own",
)


def told_senders(lists: Mapping[str, Iterable[str]]) -> Tree:
    """What the server computes at that step: by receiver, the list that it is told."""
    return Tree({receiver: senders_payload(names) for receiver, names in lists.items()})


def senders_payload(names: Iterable[str]) -> Tree:
    return Tree({name: Scalar(True) for name in names})


CONFIRMED_SENDERS: Step[Payload] = Step(
    "train.confirmed-senders",
    Phase.TRAIN,
    DATA_ROLES,
    "a tag for each partner on the list of senders that a party heard",
)
OPENED_SHARES: Step[Payload] = Step(
    "train.opened-shares", Phase.TRAIN, DATA_ROLES, "shares of senders' seeds and of lost parties' keys"
)
AGGREGATE: Step[FloatArray] = Step(
    "train.aggregate",
    Phase.TRAIN,
    frozenset({Role.SERVER}),
    "the mean of all parties' updates, public",
    marks_round=True,
)
LOCAL_WEIGHTS: Step[FloatArray] = Step(
    "train.local-weights", Phase.TRAIN, DATA_ROLES, "a party's weights after its own step"
)
SENT_WEIGHTS: Step[Payload] = Step(
    "train.sent-weights", Phase.TRAIN, DATA_ROLES, "those weights for the server, under masks or in plaintext"
)
AVERAGED_WEIGHTS: Step[FloatArray] = Step(
    "train.averaged-weights",
    Phase.TRAIN,
    frozenset({Role.SERVER}),
    "the mean of all parties' weights, public",
    marks_round=True,
)

FIRST_WEIGHTS = RecordName("weights", DATA_ROLES, Array, "the common first weights, as the party took them in")
OWN_UPDATE = RecordName("update", DATA_ROLES, Array, "a party's update as it went under the mask, in fixed point")
HELD_SHARES = RecordName(
    "held-shares", DATA_ROLES, Tree, "by dealer, the share of its key and that of its seed, as the party unsealed them"
)
OWN_WEIGHTS = RecordName("local-weights", DATA_ROLES, Array, "a party's weights as they went under the mask")

SYNCHRONISED, ASYNCHRONISED = "synchronised", "asynchronised"  # kinds of update


@dataclass(frozen=True)
class HorizontalFacts(ProtocolFacts):
    """Of all horizontal training."""

    kind: ClassVar[str] = "horizontal"

    rounds: int | None = None
    shuffled: tuple[str, ...] | None = None  # parties that deal their rows into batches anew in every round
    secure_aggregation: bool | None = None  # the server sees the mean, and nobody's own part of it


@dataclass(frozen=True)
class Dropout:
    """A party that is lost in a round before it sends."""

    party: str
    round: int


@dataclass(frozen=True)
class HorizontalLogisticFacts(HorizontalFacts):
    """Summed updates."""

    kind: ClassVar[str] = "horizontal-logistic"

    update: str | None = None  # the gradient of one batch (synchronised), or the change after a step on each
    rate_decay: float | None = None  # the rate of round t is learning_rate / (1 + rate_decay t)
    dropouts: tuple[Dropout, ...] | None = None
    recovery_threshold: int | None = None  # shares that open a secret of a round; 0: none are dealt
    confirm_senders: bool | None = None  # parties tell one another which list of senders they heard
    update_noise: float | None = None  # standard deviation of noise on each entry of an update
    shared_fraction: float | None = None  # share of an update's entries that are sent
    # A row's gradient is slope * θx - target * y, for labels of -1 and 1; 1/4 and 1/2 where nothing else is said
    slope: float | None = None
    target: float | None = None
    averaged_loss: bool | None = None  # parties step on their mean loss, and their rows weigh them in the mean


@dataclass(frozen=True)
class HorizontalLinearFacts(HorizontalFacts):
    """Averaged models."""

    kind: ClassVar[str] = "horizontal-linear"


VOCABULARY = Vocabulary(
    steps=(
        OWN_DATA,
        ROW_COUNT,
        ROW_IDS,
        AGREEMENT_KEY,
        FIRST_MODEL,
        LOCAL_UPDATE,
        ROUND_KEY,
        SEED_SHARES,
        MASKED_UPDATE,
        SENDERS,
        CONFIRMED_SENDERS,
        OPENED_SHARES,
        AGGREGATE,
        LOCAL_WEIGHTS,
        SENT_WEIGHTS,
        AVERAGED_WEIGHTS,
    ),
    records=(
        FEATURES,
        LABELS,
        NOISE,
        FIRST_WEIGHTS,
        OWN_UPDATE,
        HELD_SHARES,
        OWN_WEIGHTS,
    ),
    facts=(HorizontalFacts, HorizontalLogisticFacts, HorizontalLinearFacts),
)
