"""What prediction with a served model speaks of: its steps, the names of its records, its public facts.

Everybody may read this: attacks, theorems and defenses know a protocol by these words alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import ModelSpec, Payload, Scalar, Table
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, OWN_DATA, Phase, RecordName, Role, Step
from fedleak.core.vocabulary import Vocabulary

# The parties compute predictions jointly and securely; what that computation opens comes from a sender of its own,
# and defenses inside it are hooks of that sender.
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

TRAINING_FEATURES = RecordName(
    "training-features", frozenset({Role.ACTIVE}), Table, "the active party's rows that the model was trained on"
)
SERVED_MODEL = RecordName("model", frozenset({Role.SERVER}), ModelSpec, "the trained model")
INPUTS = RecordName("inputs", frozenset({Role.SERVER}), Table, "the rows that are predicted, all columns")
WITHHELD = RecordName("withheld", frozenset({Role.SERVER}), Scalar, "how many predictions were not released")


@dataclass(frozen=True)
class PredictionFacts(ProtocolFacts):
    """What is served, what is revealed of it, and what defenses declare of the confidences."""

    kind: ClassVar[str] = "vertical-prediction"

    model: str | None = None  # logistic, tree, forest, network or opaque
    reveal: str | None = None  # besides the confidences: the model, nothing, or each column's contribution
    unit_box: bool | None = None  # every column lies between 0 and 1
    n_classes: int | None = None
    tree_output: str | None = None  # of a leaf: one-hot or fractions
    confidence_digits: int | None = None  # decimal digits that are kept
    confidence_rounding: str | None = None  # down or nearest
    confidence_noise: float | None = None  # standard deviation
    top_label: bool | None = None  # the predicted class alone is revealed
    withheld: bool | None = None  # predictions that would pin cells down are not released
    collaboration_check: float | None = None  # columns with a larger mean absolute correlation are blanked


VOCABULARY = Vocabulary(
    steps=(
        OWN_DATA,
        COLUMNS,
        MODEL,
        REQUEST,
        CONFIDENCES,
        CONTRIBUTIONS,
    ),
    records=(
        FEATURES,
        LABELS,
        TRAINING_FEATURES,
        SERVED_MODEL,
        INPUTS,
        WITHHELD,
    ),
    facts=(PredictionFacts,),
)
