"""What an adversary has to work with, what it may be after, and up to which symmetry it can be had.

Attacks declare what they need and what they produce in these words; protocols say in them what they reveal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Capability(StrEnum):
    OWN_FEATURES = "its own feature rows"
    OWN_WEIGHTS = "its own model weights"
    OWN_GRADIENT = "its own gradient in every round"
    LABELS = "the labels"
    TWO_CLASSES = "a model of two classes"
    LINEAR_RESIDUAL = "residuals that are linear in the scores"
    BATCH_IDS = "which rows are in each batch"
    CIPHERTEXTS = "ciphertexts received from partners"
    DECRYPTION_KEY = "the key that opens the parties' ciphertexts"
    ALL_GRADIENTS = "every party's gradient"
    AVERAGED_WEIGHTS = "the averaged model of every round"
    UPDATE_SUM = "the sum of all parties' model updates in every round"
    MODEL = "the trained model"
    PREDICTIONS = "the model's outputs for known rows"
    PREDICTION_SERVICE = "a prediction service to query"
    LINEAR_MODEL = "a trained linear model"
    TREE_MODEL = "a trained decision tree"
    FOREST_MODEL = "a trained forest of votes"
    CONTRIBUTIONS = "what each column contributed to each prediction"
    KNOWN_CELLS = "some of the victim's cells"
    PUBLIC_SAMPLE = "a public sample of similar rows"


class SecretKind(StrEnum):
    LABELS = "labels"
    FEATURES = "features"
    RESIDUALS = "residuals"  # per sample and round: model output minus label
    PARTIAL_SCORES = "partial-scores"  # per sample and round: a party's share of the linear score
    GRAM = "gram"  # inner products of the victim's rows (or columns)
    WEIGHTS = "weights"
    THRESHOLDS = "thresholds"  # split points of a victim's tree nodes
    RANGES = "ranges"  # intervals that contain the victim's values
    IMAGES = "images"
    COLUMN_PRODUCTS = "column-products"  # inner products of columns, and with the labels, over some parties' rows
    RECORDS = "records"  # whole rows with their labels, of one party or of several together


JOINT = "*"  # the owner of what no single party has, such as residuals


@dataclass(frozen=True)
class Secret:
    kind: SecretKind
    owner: str

    def __str__(self) -> str:
        return self.kind.value if self.owner == JOINT else f"{self.kind.value} of {self.owner}"


def together(owners: Iterable[str]) -> str:
    """The owner of what several parties hold and nobody can tell apart."""
    return "+".join(owners)


class Symmetry(StrEnum):
    """An ambiguity that no attack of a class can resolve; a metric aligns by it, and only by it."""

    GLOBAL_SIGN = "global sign"
    ROW_ORDER = "row order"
    ROTATION = "rotation"
    COLUMN_ORDER = "column order"
