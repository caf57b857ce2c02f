"""What federated training of layered networks speaks of: its steps, the names of its records, its public facts.

Everybody may read this: attacks, theorems and defenses know a protocol by these words alone. A round is a batch, or a
round of local steps. A gradient is a ``Tree`` of an ``Array`` for each trained parameter, in the network's order, under
the name that ``LayeredNetwork`` gives it (``0.weight``). It is that of the mean loss of the batch. Networks are
``ModelSpec`` of kind ``layered``. Rows of batches are in the order of their ids' message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import Array, ModelSpec, Texts, Tree
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

ACTIVE, PASSIVE, SERVER = frozenset({Role.ACTIVE}), frozenset({Role.PASSIVE}), frozenset({Role.SERVER})

# Cut by columns or pixels (CAFE's setting).
NETWORKS: Step[Tree] = Step(
    "train.networks",
    Phase.TRAIN,
    SERVER,
    "bottoms: each party's network, by its name, in the order in which the top takes their outputs; top; public, in "
    "every round that they changed before",
)
BATCH: Step[Array] = Step(
    "train.batch-rows", Phase.TRAIN, SERVER | ACTIVE, "ids of the rows of a batch, public", marks_round=True
)
TOP_GRADIENTS: Step[Tree] = Step(
    "train.top-gradients", Phase.TRAIN, ACTIVE, "the gradient of the top network, from the label holder to the server"
)
# Of networks that are cut, and of split networks.
EMBEDDINGS: Step[Array] = Step(
    "train.embeddings",
    Phase.TRAIN,
    PASSIVE,
    "(batch, outputs): what a party's bottom network makes of its rows, to the label holder",
)
EMBEDDING_GRADIENTS: Step[Array] = Step(
    "train.embedding-gradients",
    Phase.TRAIN,
    ACTIVE,
    "(batch, outputs): the gradient of the batch's mean loss by those outputs, back to their party",
)
# In split networks.
OWN_STEP: Step[Tree] = Step(
    "train.own-step",
    Phase.TRAIN,
    DATA_ROLES,
    "a party's own networks before a batch, and the gradient that it steps its bottom by: both stay at home",
)
# Everywhere but in split networks.
LAYER_GRADIENTS: Step[Tree] = Step(
    "train.layer-gradients",
    Phase.TRAIN,
    DATA_ROLES,
    "the gradient of every layer of a party's network over a batch, to the server",
)
# Cut by rows.
ROW_IDS: Step[Array] = Step("setup.network-rows", Phase.SETUP, ACTIVE, "how a client numbers its rows, public")
NETWORK: Step[ModelSpec] = Step(
    "train.network", Phase.TRAIN, SERVER, "the network, public, in every round that it changed before"
)
PARTICIPANTS: Step[Texts] = Step(
    "train.participants", Phase.TRAIN, SERVER, "a round begins: whose updates it takes, public", marks_round=True
)
OWN_BATCH: Step[Array] = Step(
    "train.own-batch",
    Phase.TRAIN,
    ACTIVE,
    "(local steps, batch): ids of the rows that a client's update is over, to the server",
)
LAYER_UPDATES: Step[Tree] = Step(
    "train.layer-updates",
    Phase.TRAIN,
    ACTIVE,
    "what a party's local steps changed of every parameter (new less old), to the server",
)
FINISHED: Step[Any] = Step("train.finished-network", Phase.TRAIN, DATA_ROLES, "what a party has of the trained network")

BOTTOM_NETWORK = RecordName("bottom-network", DATA_ROLES, ModelSpec, "a party's own bottom network before the round")
TOP_NETWORK = RecordName("top-network", ACTIVE, ModelSpec, "the label holder's top network before the round")
BATCH_ROWS = RecordName("batch-rows", ACTIVE, Array, "ids of the rows of a batch; a row for each local step")

TOP, BOTTOMS = "top", "bottoms"  # in what NETWORKS carries
DRAWN, SHUFFLED = "drawn", "shuffled"  # kinds of batches


@dataclass(frozen=True)
class NetworkFacts(ProtocolFacts):
    """Of layered networks that are trained together."""

    kind: ClassVar[str] = "network"

    bottom: tuple[str, ...] | None = None  # layers of each party's network, or of the whole one, as a scenario has them
    top: tuple[str, ...] | None = None  # layers of the top network, without its last: a score for each class
    n_classes: int | None = None
    n_batches: int | None = None  # rounds
    batches: str | None = None  # drawn: each anew from all rows; shuffled: every epoch deals all rows out
    trained: bool | None = None  # parameters change from round to round
    optimiser: str | None = None  # sgd or adam
    local_steps: int | None = None  # that an update is over; 0: it is the gradient of one batch
    known_batches: bool | None = None  # the server knows which rows a gradient or an update is over
    precision: str | None = None  # of what is sent: float32 or float64
    first_parameters: str | None = None  # how they were drawn: torch, glorot, kaiming, uniform


VOCABULARY = Vocabulary(
    steps=(
        OWN_DATA,
        NETWORKS,
        BATCH,
        TOP_GRADIENTS,
        EMBEDDINGS,
        EMBEDDING_GRADIENTS,
        OWN_STEP,
        LAYER_GRADIENTS,
        ROW_IDS,
        NETWORK,
        PARTICIPANTS,
        OWN_BATCH,
        LAYER_UPDATES,
        FINISHED,
    ),
    records=(FEATURES, LABELS, BOTTOM_NETWORK, TOP_NETWORK, BATCH_ROWS),
    facts=(NetworkFacts,),
)
