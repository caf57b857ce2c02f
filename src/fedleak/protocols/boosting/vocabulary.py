"""What vertically federated boosted trees speak of: their steps, the names of their records, their public facts.

Everybody may read this: attacks, theorems and defenses know a protocol by these words alone. A round is a tree. Rows
are named by their ids, nodes by their number within the tree (the root is 0, children come after their parent),
candidates by their place in the list that their owner made for the tree. Sums are in fixed point, as integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array, Payload, Scalar, Table, Tree
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

ACTIVE, PASSIVE = frozenset({Role.ACTIVE}), frozenset({Role.PASSIVE})
# Where predictions show scores alone, an ideal computation routes the rows; what it opens has a sender of its own.
ROUTING_COMPUTATION = "routing computation"
ROUTING_SERVICE = "routing"  # the oracle that answers hop by hop
SCORE_SERVICE = "scores"  # the oracle that answers with scores alone
HIDDEN = -1  # in place of a column that its owner does not tell
LEAF = -1  # in place of a child or an owner

GRADIENT_KEY: Step[Payload] = Step("setup.gradient-key", Phase.SETUP, ACTIVE, "the label holder's public key, public")
BINS: Step[Any] = Step("setup.bins", Phase.SETUP, DATA_ROLES, "a party cuts its columns into quantile bins")
TREE: Step[Payload] = Step(
    "train.tree", Phase.TRAIN, ACTIVE, "a tree begins: which score it adds to, and who takes part", marks_round=True
)
GRADIENTS: Step[Any] = Step(
    "train.gradients", Phase.TRAIN, ACTIVE, "the label holder's gradients and hessians, as the integers to encrypt"
)
ENCRYPTED_GRADIENTS: Step[Tree] = Step(
    "train.encrypted-gradients",
    Phase.TRAIN,
    ACTIVE,
    "rows: ids; values: a ciphertext each (or two, g and h); slot_bits: the width of a candidate's sums, 0 is unpacked",
)
CANDIDATES: Step[Array] = Step(
    "train.candidates", Phase.TRAIN, PASSIVE, "the column of each candidate that a party lists; -1 where it is hidden"
)
NODE_ROWS: Step[Tree] = Step(
    "train.node-rows",
    Phase.TRAIN,
    ACTIVE,
    "level; rows and nodes: the node of every row of the level; wanted: the nodes whose sums are asked for",
)
CANDIDATE_SUMS: Step[Tree] = Step(
    "train.candidate-sums",
    Phase.TRAIN,
    PASSIVE,
    "level; nodes; sums: g and h over the left rows of every candidate of every node, packed and under encryption",
)
OPENED_SUMS: Step[Any] = Step("train.opened-sums", Phase.TRAIN, ACTIVE, "the label holder opens a partner's sums")
CHOOSE: Step[Any] = Step("train.choose-split", Phase.TRAIN, ACTIVE, "the label holder chooses a node's split, or none")
CHOSEN_SPLIT: Step[Tree] = Step(
    "train.chosen-split", Phase.TRAIN, ACTIVE, "nodes, candidates: which of a party's candidates won, to that party"
)
ROUTING: Step[Tree] = Step(
    "train.routing", Phase.TRAIN, DATA_ROLES, "rows, nodes, left: which way the owner of a split sends each row"
)
FIRST_SCORE: Step[Scalar] = Step(
    "setup.first-score", Phase.SETUP, ACTIVE, "the score that every row starts with, public; of numbers the mean label"
)
SAMPLE_GRADIENTS: Step[Tree] = Step(
    "train.sample-gradients", Phase.TRAIN, ACTIVE, "rows: ids; g, h: of each row's loss, in plaintext, public"
)
SPLIT_CANDIDATES: Step[Tree] = Step(
    "train.split-candidates",
    Phase.TRAIN,
    DATA_ROLES,
    "nodes; columns; thresholds; gains: a party's best split of each node, chosen or not, in plaintext, public",
)
FINISHED: Step[Payload] = Step("train.finished", Phase.TRAIN, DATA_ROLES, "what a party has of the trained model")
WANTED_ROWS: Step[Array] = Step("predict.wanted-rows", Phase.PREDICT, ACTIVE, "ids of rows to predict, public")
HOP_REQUEST: Step[Tree] = Step(
    "predict.hop-request", Phase.PREDICT, ACTIVE, "rows, trees, nodes: rows that stand at a party's nodes"
)
HOP: Step[Tree] = Step(
    "predict.hop", Phase.PREDICT, PASSIVE, "rows, trees, nodes, left: which way a party's nodes send them"
)
SCORES: Step[Array] = Step(
    "predict.scores", Phase.PREDICT, frozenset({Role.SERVER}), "the scores of predicted rows, where routing is hidden"
)

BIN_THRESHOLDS = RecordName("bin-thresholds", DATA_ROLES, Tree, "the upper ends of a party's bins, by column")
KEY_PAIR = RecordName("gradient-key", ACTIVE, Tree, "the key pair; of the ideal cipher its public half alone")
OWN_GRADIENTS = RecordName(
    "tree-gradients", ACTIVE, Tree, "rows: ids of the rows that count; g, h: in fixed point; fraction_bits"
)
SUMS_OF = RecordName(
    "sums-of-", ACTIVE, Tree, "level; nodes; g, h: (nodes, candidates), opened, in fixed point", "party"
)
CHOICE = RecordName("choice", ACTIVE, Tree, "node; owner: a name, empty at a leaf; candidate: of the owner's list")
SPLITS = RecordName("splits", DATA_ROLES, Table, "a party's own nodes: tree, node, column, threshold, missing_left")
TREES = RecordName(
    "trees",
    ACTIVE,
    Tree,
    "nodes of all trees: left, right, owner, column, threshold, missing_left, weight; sizes and score of each tree; "
    "owners; first_score",
)
ROW_BITS = RecordName(
    "row-bits",
    ACTIVE,
    Tree,
    "of a dishonest label holder. rows: ids; left: (sums, rows), who is in each sum",
)
PREDICTED = RecordName("predicted-scores", ACTIVE, Table, "the scores of the rows that were predicted")


@dataclass(frozen=True)
class BoostingFacts(ProtocolFacts):
    """Of vertically federated boosted trees."""

    kind: ClassVar[str] = "boosting"

    objective: str | None = None  # logistic, softmax or squared
    n_classes: int | None = None
    n_rounds: int | None = None  # of boosting; with softmax each has a tree a class
    depth: int | None = None
    bins: int | None = None
    min_bin_rows: int | None = None  # that every bin has at least
    l2: float | None = None
    min_gain: float | None = None
    min_child_weight: float | None = None
    row_share: float | None = None
    goss: bool | None = None
    reveal_feature: bool | None = None  # the label holder learns which column a candidate is about
    tell_leaves: bool | None = None  # partners learn the leaf of every row
    blinding: str | None = None  # of encrypted gradients: fresh, shared or none
    label_epsilon: float | None = None  # of the randomised labels that trees are grown on; 0: the labels themselves
    first_tree_alone: bool | None = None  # the first round uses the label holder's columns alone
    packed: bool | None = None  # g and h, and many candidates, in one plaintext
    unit_box: bool | None = None  # every column lies between 0 and 1
    prediction: str | None = None  # routing or scores: what the label holder sees of a prediction
    enrolled_records: bool | None = None  # the label holder may have made-up records predicted
    query_budget: int | None = None  # None is unknown or without limit
    record_budget: int | None = None


VOCABULARY = Vocabulary(
    steps=(
        OWN_DATA,
        GRADIENT_KEY,
        FIRST_SCORE,
        BINS,
        TREE,
        GRADIENTS,
        ENCRYPTED_GRADIENTS,
        SAMPLE_GRADIENTS,
        SPLIT_CANDIDATES,
        CANDIDATES,
        NODE_ROWS,
        CANDIDATE_SUMS,
        OPENED_SUMS,
        CHOOSE,
        CHOSEN_SPLIT,
        ROUTING,
        FINISHED,
        WANTED_ROWS,
        HOP_REQUEST,
        HOP,
        SCORES,
    ),
    records=(
        FEATURES,
        LABELS,
        BIN_THRESHOLDS,
        KEY_PAIR,
        OWN_GRADIENTS,
        SUMS_OF,
        CHOICE,
        SPLITS,
        TREES,
        ROW_BITS,
        PREDICTED,
    ),
    facts=(BoostingFacts,),
)
