"""What an adversary has to work with, what it may be after, and up to which symmetry it can be had.

Attacks declare what they need and what they produce in these words; protocols say in them what they reveal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Self

from fedleak.core.described import meaning


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
    SENDERS = "whose updates are in the sum of each round"
    OPENED_SHARES = "masked updates, and shares of the keys and seeds behind their masks"
    MODEL = "the trained model"
    PREDICTIONS = "the model's outputs for known rows"
    VALIDATION_SCORES = "its partners' scores of training rows, in plaintext"
    PREDICTION_SERVICE = "a prediction service to query"
    LINEAR_MODEL = "a trained linear model"
    TREE_MODEL = "a trained decision tree"
    FOREST_MODEL = "a trained forest of votes"
    CONTRIBUTIONS = "what each column contributed to each prediction"
    NODE_ROWS = "which rows are in each node of the trees"
    CANDIDATE_SUMS = "sums of gradients for every split that its partners could make"
    NODE_ROUTING = "which way its partners' nodes send each row"
    ENROLLED_RECORDS = "a prediction service for records of its own making"
    SAMPLE_GRADIENTS = "the gradient of every row's loss, in plaintext"
    SPLIT_POINTS = "the thresholds that its partners offer at each node"
    OWN_NETWORK = "its own bottom network in every round"
    NETWORK = "the whole network that its partners train, in every round"
    CUT_NETWORKS = "every party's bottom network and the top, in every round"
    LAYER_GRADIENTS = "the gradient of every layer of its partners' networks"
    LAYER_UPDATES = "what its partners' local steps change of every layer of a network"
    EMBEDDINGS = "what its partners' bottom networks make of each row"
    EMBEDDING_GRADIENTS = "the gradient of its own bottom network's outputs for each row"
    ALIGNED_ROWS = "which of the people that it names its partners have too"
    IDENTIFIER_DIGESTS = "digests of its partners' identifiers"
    KNOWN_CELLS = "some of the victim's cells"
    KNOWN_LABELS = "the labels of a few rows"
    PUBLIC_SAMPLE = "a public sample of similar rows"


class Index(Enum):
    """What names a row of a secret: the parts of its id. Two rows are the same where all parts are."""

    ROW = ("row",)  # of the table, as all parties count; a person
    COLUMN = ("column",)  # of the owner's, by position
    ROUND_AND_ROW = ("round", "row")
    TREE_AND_NODE = ("tree", "node")

    @property
    def parts(self) -> tuple[str, ...]:
        parts: tuple[str, ...] = self.value
        return parts

    def shape_of(self, n_rows: int) -> tuple[int, ...]:
        """Of the ids of so many rows: a list where one number is enough, otherwise a column a part."""
        return (n_rows,) if len(self.parts) == 1 else (n_rows, len(self.parts))

    def misfit(self, shape: tuple[int, ...], n_rows: int) -> str | None:
        """Why ids of this shape cannot name so many rows; None where they can."""
        wanted = self.shape_of(n_rows)
        if shape == wanted:
            return None
        return f"ids must be {wanted}, the {' and '.join(self.parts)} of each of the {n_rows} rows; got {shape}"


class SecretKind(StrEnum):
    """Each with the words that a report has for it, and what it means for its owner that somebody learns it."""

    LABELS = (
        "labels",
        "labels",
        "The label is what {owner} knows about each person: who defaulted, who is ill, who bought.",
    )
    FEATURES = "features", "features", "These are the columns that {owner} was to keep at home."
    RESIDUALS = (  # per sample and round: model output minus label
        "residuals",
        "residuals",
        "A residual is the model's error on one record: its sign shows a class label, "
        "and labels and features are solved for from it.",
        Index.ROUND_AND_ROW,
    )
    PARTIAL_SCORES = (  # per sample and round: a party's share of the linear score
        "partial-scores",
        "partial scores",
        "A partial score sums up what {owner}'s columns say about one person, and other attacks start from it.",
        Index.ROUND_AND_ROW,
    )
    GRAM = (  # inner products of the victim's rows (or columns)
        "gram",
        "inner products of rows",
        "Inner products show which of {owner}'s records are alike, and fix its columns up to a rotation: "
        "a few known cells undo that.",
    )
    WEIGHTS = (
        "weights",
        "model weights",
        "The weights show how each of {owner}'s columns bears on the outcome.",
        Index.COLUMN,
    )
    THRESHOLDS = (  # of a victim's tree nodes
        "thresholds",
        "split points",
        "The split points show where {owner}'s columns divide people.",
        Index.TREE_AND_NODE,
    )
    RANGES = (  # intervals that contain the victim's values
        "ranges",
        "value ranges",
        "The ranges bracket each of {owner}'s values; every further split narrows them.",
    )
    BINS = (  # of each cell the number of its quantile bin; -1 where it is missing
        "bins",
        "quantile bins of cells",
        "The bins bracket each of {owner}'s values between two quantiles, and order its records in every column.",
    )
    IMAGES = "images", "images", "These are the pictures themselves, which {owner} was to keep at home."
    COLUMN_PRODUCTS = (  # of columns, and with the labels, over some parties' rows
        "column-products",
        "inner products of columns",
        "They count in how many of {owner}'s records two entries occur together; of binary columns they often fix "
        "every record.",
        Index.COLUMN,
    )
    RECORDS = (  # whole rows with their labels, of one party or of several together
        "records",
        "records",
        "These are whole records of {owner}, with their labels; only their order stays unknown.",
    )

    MEMBERS = (  # of each person whether the owner has it
        "members",
        "list of people",
        "Whom {owner} has among its customers or patients is personal data before any column is seen.",
    )

    words: str
    consequence: str
    # What the ids of its rows are. A cell's place within a row is not part of the id: in a table of inner products the
    # row's id names the one factor, and the column the other.
    indexed_by: Index

    def __new__(cls, value: str, words: str, consequence: str, indexed_by: Index = Index.ROW) -> Self:
        member = str.__new__(cls, value)
        member._value_, member.words, member.consequence, member.indexed_by = value, words, consequence, indexed_by
        return member


JOINT = "*"  # the owner of what no single party has, such as residuals


@dataclass(frozen=True)
class Secret:
    kind: SecretKind = field(metadata=meaning("what it is"))
    owner: str = field(metadata=meaning(f'whose it is; "{JOINT}" for what no single party has, such as residuals'))

    def __str__(self) -> str:
        return self.kind.value if self.owner == JOINT else f"{self.kind.value} of {self.owner}"


def together(owners: Iterable[str]) -> str:
    """The owner of what several parties hold and nobody can tell apart; a plus in a name is told from one between."""
    return "+".join(owner.replace("\\", "\\\\").replace("+", "\\+") for owner in owners)


def members(owner: str) -> tuple[str, ...]:
    """The parties that such an owner is made of."""
    return tuple(re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"(?:\\.|[^+])+", owner))


class Symmetry(StrEnum):
    """An ambiguity that no attack of a class can resolve; a metric aligns by it, and only by it."""

    GLOBAL_SIGN = "global sign"
    ROW_ORDER = "row order"
    ROTATION = "rotation"
    COLUMN_ORDER = "column order"
    CLASS_NAMES = "names of the classes"
