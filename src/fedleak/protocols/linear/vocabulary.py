"""What vertically federated linear models speak of: their steps, the names of their records, their public facts.

Everybody may read this: attacks, theorems and defenses know a protocol by these words alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array, CipherArray, IntegerArray, Payload, Scalar, Tree
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, NOISE, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.transcript import OPENS
from fedleak.core.vocabulary import Vocabulary

INITIALISE: Step[FloatArray] = Step("setup.initialise", Phase.SETUP, DATA_ROLES, "a party draws its initial weights")
PUBLIC_KEY: Step[Payload] = Step(
    "setup.public-key", Phase.SETUP, DATA_ROLES | {Role.ARBITER}, "a key holder publishes its public key"
)
BATCH: Step[IntArray] = Step(
    "train.batch", Phase.TRAIN, frozenset({Role.ACTIVE}), "the batch's row ids, public", marks_round=True
)
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
GRADIENT: Step[FloatArray] = Step("train.gradient", Phase.TRAIN, DATA_ROLES, "a party's own gradient")
UPDATE: Step[FloatArray] = Step("train.update", Phase.TRAIN, DATA_ROLES, "a party's weights after the step")
VALIDATION_SCORE: Step[FloatArray] = Step(
    "train.validation-score",
    Phase.TRAIN,
    frozenset({Role.PASSIVE}),
    "a passive party's scores of all training rows after an epoch, in plaintext, to see how the training goes",
)
SHARED_DATA: Step[AnyArray] = Step(
    "setup.shared-data", Phase.SETUP, DATA_ROLES, "a share of a party's rows, first weights and labels, for a partner"
)
DEALT: Step[AnyArray] = Step(
    "setup.dealt", Phase.SETUP, DATA_ROLES, "what an ideal dealer handed to a party: its parts of masks and triples"
)
OPENING: Step[AnyArray] = Step(
    "train.opening", Phase.TRAIN, DATA_ROLES, "a party's share of a masked value that all of them open"
)
GRADIENT_PART: Step[AnyArray] = Step(
    "train.gradient-part", Phase.TRAIN, DATA_ROLES, "a share of a partner's gradient, for that partner alone"
)
PARTIAL_SCORE: Step[FloatArray] = Step(
    "predict.partial-score", Phase.PREDICT, frozenset({Role.PASSIVE}), "a passive party's score of a queried row"
)

WEIGHTS = RecordName("weights", DATA_ROLES, Array, "a party's own weights, at first and after each of its steps")
OWN_GRADIENT = RecordName("gradient", DATA_ROLES, Array, "a party's own gradient")
ASKED_OF = RecordName(
    "asked-of-",
    frozenset({Role.ACTIVE}),
    Array,
    "rows of its own making that a partner scored, in its columns",
    "party",
)
GRADIENT_SHARE = RecordName("gradient-share", DATA_ROLES, Array, "a share of all gradients, which nobody opens")
OWN_PART_SHARE = RecordName(
    "gradient-part", DATA_ROLES, Array, "its share of its own gradient, which partners complete"
)
WEIGHT_SHARE = RecordName("weight-share", DATA_ROLES, Array, "a share of all weights, which nobody opens")
DATA_SHARE = RecordName("data-share", DATA_ROLES, Array, "a party's own share of what it shared of its data")
DEALT_WORDS = RecordName("dealt", DATA_ROLES, Array, "its parts of masks and triples, in the order of their use")
ARBITERS_STEP = RecordName("step", DATA_ROLES, Array, "what the arbiter opened for the party: rate times gradient")
PRIVATE_KEY = RecordName(
    "private-key", DATA_ROLES | {Role.ARBITER}, Tree, "the key pair; of the ideal cipher its public half alone"
)
MASK_FOR = RecordName("mask-for-", DATA_ROLES, IntegerArray, "the mask on what a partner decrypts", "partner")
GRADIENT_OF = RecordName("gradient-of-", frozenset({Role.ARBITER}), Array, "a party's gradient, opened", "party")
LOSS = RecordName("loss", frozenset({Role.ARBITER}), Array, "the loss of the batch, opened")
OPENED_BY_KEY = RecordName(
    OPENS, frozenset({Role.ARBITER}), Array, "what the key would open in a message, by its digest", "ciphertext"
)
# Of parties that deviate
FAKE_FEATURES = RecordName("fake-features", DATA_ROLES, Scalar, "how many columns of noise the party added")
CLAIMED_GRADIENT = RecordName("claimed-gradient", DATA_ROLES, Array, "the gradient with claimed columns in it")
PACKING = RecordName("packing", DATA_ROLES, Scalar, "why packed products gave nothing in a round")
TOO_FEW_SLOTS = "too few slots for the batch"  # the round was an honest one
PRODUCT_LOST = "a value did not fit its slot"  # and the party trained without that partner's part
SHARES_FROM = RecordName(
    "opened-shares-from-", DATA_ROLES, IntegerArray, "a partner's values, solved from packed products", "partner"
)


@dataclass(frozen=True)
class LinearResidual:
    """d = slope * (sum of all scores - target), target = target_scale * label + target_shift."""

    slope: float
    target_scale: float
    target_shift: float

    def target(self, labels: AnyArray) -> FloatArray:
        return np.asarray(self.target_scale * labels + self.target_shift, dtype=np.float64)


# Of the approximations whose residual is linear in the scores. d = wx/4 - y/2 with y = -1, 1 is (wx - 2y)/4; for a
# linear model it is score minus label (eq. 1 of Li et al. 2021).
RESIDUALS = {"taylor": LinearResidual(0.25, 4.0, -2.0), "exact": LinearResidual(1.0, 1.0, 0.0)}


@dataclass(frozen=True)
class LinearFacts(ProtocolFacts):
    """Of all vertically federated linear models."""

    kind: ClassVar[str] = "vertical-linear"

    shuffle: bool | None = None  # new batches in every epoch
    residual: LinearResidual | None = None  # where it is linear in the scores
    epsilon: float | None = None  # the privacy budget that noise on the shared scores is calibrated by
    delta: float | None = None


@dataclass(frozen=True)
class VerticalLogisticFacts(LinearFacts):
    """Without an arbiter."""

    kind: ClassVar[str] = "vertical-logistic"

    gradients: str | None = None  # how they come about: encrypted-exchange, opened-shares or secret-shared
    pack_products: bool | None = None  # several share a ciphertext when they are masked and opened
    shared_rounds: int | None = None  # on shares: messages one after the other, in all of the training
    shared_bytes: int | None = None  # that a party sends to each partner in openings to everybody
    opened_bytes: int | None = None  # of gradients' shares, each to the gradient's owner, in all
    dealt_bytes: int | None = None  # that the dealer hands to each party


@dataclass(frozen=True)
class ArbiterFacts(LinearFacts):
    """With an arbiter, logistic or linear."""

    kind: ClassVar[str] = "vertical-arbiter"

    l2: float | None = None  # weight of the squared norm of the weights in the loss
    decay: bool | None = None  # the rate is divided by sqrt(1 + epoch)
    loss: bool | None = None  # sent to the arbiter
    prediction_service: bool | None = None  # of partial scores, to the active party
    blinding: str | None = None  # of encrypted scores and residuals: fresh, none or signed
    validate_every: int | None = None  # epochs after which training rows are scored in plaintext; 0 for never


VOCABULARY = Vocabulary(
    steps=(
        OWN_DATA,
        INITIALISE,
        PUBLIC_KEY,
        BATCH,
        SHARED_SCORE,
        ENCRYPTED_SCORE,
        MULTIPLY,
        MASKED_PRODUCT,
        OPENED_PRODUCT,
        UNMASK,
        ENCRYPTED_RESIDUAL,
        ENCRYPTED_GRADIENT,
        OPENED_GRADIENT,
        ENCRYPTED_LOSS,
        GRADIENT,
        UPDATE,
        VALIDATION_SCORE,
        PARTIAL_SCORE,
        SHARED_DATA,
        DEALT,
        OPENING,
        GRADIENT_PART,
    ),
    records=(
        FEATURES,
        LABELS,
        NOISE,
        WEIGHTS,
        ASKED_OF,
        OWN_GRADIENT,
        GRADIENT_SHARE,
        OWN_PART_SHARE,
        WEIGHT_SHARE,
        DATA_SHARE,
        DEALT_WORDS,
        ARBITERS_STEP,
        PRIVATE_KEY,
        MASK_FOR,
        GRADIENT_OF,
        LOSS,
        OPENED_BY_KEY,
        FAKE_FEATURES,
        CLAIMED_GRADIENT,
        PACKING,
        SHARES_FROM,
    ),
    facts=(LinearFacts, VerticalLogisticFacts, ArbiterFacts),
)
