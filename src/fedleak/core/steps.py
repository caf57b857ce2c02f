"""Every named step of every protocol: the only places where hooks act and messages arise.

A ``Step`` is generic in the value that hooks see there, so that a defense written for
floating-point vectors cannot be attached to a step that handles ciphertexts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import CipherArray, IntegerArray, Payload


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

    def __str__(self) -> str:
        return self.name


DATA_ROLES = frozenset({Role.ACTIVE, Role.PASSIVE})  # who holds columns or labels

# Setup, shared by all protocols
OWN_DATA: Step[FloatArray] = Step("setup.own-data", Phase.SETUP, DATA_ROLES, "a party's feature rows enter")
INITIALISE: Step[FloatArray] = Step("setup.initialise", Phase.SETUP, DATA_ROLES, "a party draws its initial weights")
PUBLIC_KEY: Step[Payload] = Step(
    "setup.public-key", Phase.SETUP, DATA_ROLES | {Role.ARBITER}, "a key holder publishes its public key"
)

# Training of vertical linear models
BATCH: Step[IntArray] = Step("train.batch", Phase.TRAIN, frozenset({Role.ACTIVE}), "the batch's row ids, public")
SHARED_SCORE: Step[FloatArray] = Step(
    "train.shared-score",
    Phase.TRAIN,
    DATA_ROLES,
    "the per-sample values that a party encrypts for others: its partial score, with the labels at the active party",
)
ENCRYPTED_SCORE: Step[CipherArray] = Step(
    "train.encrypted-score", Phase.TRAIN, DATA_ROLES, "those values under encryption"
)
MULTIPLY: Step[Any] = Step(
    "train.multiply", Phase.TRAIN, DATA_ROLES, "own features times the partner's ciphertexts, and a mask on them"
)
MASKED_PRODUCT: Step[CipherArray] = Step(
    "train.masked-product", Phase.TRAIN, DATA_ROLES, "the masked product, for the partner to decrypt"
)
OPENED_PRODUCT: Step[IntegerArray] = Step(
    "train.opened-product", Phase.TRAIN, DATA_ROLES, "the masked product in plaintext, back to its owner"
)
UNMASK: Step[Any] = Step("train.unmask", Phase.TRAIN, DATA_ROLES, "a party takes its mask off")
ENCRYPTED_RESIDUAL: Step[CipherArray] = Step(
    "train.encrypted-residual", Phase.TRAIN, frozenset({Role.ACTIVE}), "the residual under the arbiter's key"
)
ENCRYPTED_GRADIENT: Step[CipherArray] = Step(
    "train.encrypted-gradient", Phase.TRAIN, DATA_ROLES, "a party's gradient for the arbiter"
)
OPENED_GRADIENT: Step[FloatArray] = Step(
    "train.opened-gradient", Phase.TRAIN, frozenset({Role.ARBITER}), "a party's step in plaintext, from the arbiter"
)
ENCRYPTED_LOSS: Step[CipherArray] = Step(
    "train.encrypted-loss", Phase.TRAIN, DATA_ROLES, "what the loss is made of, under encryption"
)
# Training of horizontal linear models
ROW_COUNT: Step[Payload] = Step("setup.row-count", Phase.SETUP, DATA_ROLES, "a party says how many rows it holds")
AGREEMENT_KEY: Step[Payload] = Step(
    "setup.agreement-key", Phase.SETUP, DATA_ROLES, "a party's public Diffie-Hellman key, for masks between pairs"
)
FIRST_MODEL: Step[FloatArray] = Step(
    "setup.first-model", Phase.SETUP, frozenset({Role.SERVER}), "the common first weights, from the server"
)
LOCAL_UPDATE: Step[FloatArray] = Step(
    "train.local-update", Phase.TRAIN, DATA_ROLES, "what a party's own rows change of the model, before masking"
)
MASKED_UPDATE: Step[Payload] = Step(
    "train.masked-update", Phase.TRAIN, DATA_ROLES, "that update under masks which cancel in the sum"
)
ROUND_KEY: Step[Payload] = Step(
    "train.round-key", Phase.TRAIN, DATA_ROLES, "a party's public key of the round, and a commitment to its seed"
)
SEED_SHARES: Step[Payload] = Step(
    "train.seed-shares", Phase.TRAIN, DATA_ROLES, "sealed shares of a party's key and seed, for a partner"
)
SENDERS: Step[Payload] = Step(
    "train.senders", Phase.TRAIN, frozenset({Role.SERVER}), "whose masked updates came in, public"
)
OPENED_SHARES: Step[Payload] = Step(
    "train.opened-shares", Phase.TRAIN, DATA_ROLES, "shares of senders' seeds and of lost parties' keys"
)
AGGREGATE: Step[FloatArray] = Step(
    "train.aggregate", Phase.TRAIN, frozenset({Role.SERVER}), "the mean of all parties' updates, public"
)
GRADIENT: Step[FloatArray] = Step("train.gradient", Phase.TRAIN, DATA_ROLES, "a party's own gradient")
UPDATE: Step[FloatArray] = Step("train.update", Phase.TRAIN, DATA_ROLES, "a party's weights after the step")

# Averaging of whole models, horizontal
ROW_IDS: Step[IntArray] = Step("setup.row-ids", Phase.SETUP, DATA_ROLES, "how a party numbers its rows, public")
LOCAL_WEIGHTS: Step[FloatArray] = Step(
    "train.local-weights", Phase.TRAIN, DATA_ROLES, "a party's weights after its own step"
)
SENT_WEIGHTS: Step[Payload] = Step(
    "train.sent-weights", Phase.TRAIN, DATA_ROLES, "those weights for the server, under masks or in plaintext"
)
AVERAGED_WEIGHTS: Step[FloatArray] = Step(
    "train.averaged-weights", Phase.TRAIN, frozenset({Role.SERVER}), "the mean of all parties' weights, public"
)

# Prediction with vertical linear models
PARTIAL_SCORE: Step[FloatArray] = Step(
    "predict.partial-score", Phase.PREDICT, frozenset({Role.PASSIVE}), "a passive party's score of a queried row"
)

# Prediction with a trained model. The parties compute it jointly and securely; what that computation opens
# comes from a sender of its own, and defenses inside it are hooks of that sender.
JOINT_COMPUTATION = "joint computation"
COLUMNS: Step[Payload] = Step("setup.columns", Phase.SETUP, DATA_ROLES, "a party's column names, public")
MODEL: Step[Payload] = Step(
    "predict.model", Phase.PREDICT, frozenset({Role.SERVER}), "the trained model, for the active party"
)
REQUEST: Step[Payload] = Step(
    "predict.request", Phase.PREDICT, frozenset({Role.ACTIVE}), "the row ids that the active party wants predicted"
)
CONFIDENCES: Step[Payload] = Step(
    "predict.confidences", Phase.PREDICT, frozenset({Role.SERVER}), "a confidence for each class of each row"
)
CONTRIBUTIONS: Step[Payload] = Step(
    "predict.contributions", Phase.PREDICT, frozenset({Role.SERVER}), "what each column contributed to each prediction"
)
