"""What closes a leak, as data: the words that are printed, and the change to a scenario that they mean.

Only what stands here is ever advised; a test applies each to scenarios that leak and runs every attack on the result. A
larger batch is not among them (it hides residuals from partners that follow the protocol, never labels), nor is the top
label alone (it still narrows columns down), nor a second column, nor batches that recur, nor batches that are dealt
anew (updates then follow the products of all rows, if less closely).
"""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.adversary import SecretKind
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue


@dataclass(frozen=True)
class Countermeasure:
    """Settings of the scenario, a defense beside them, another protocol (without the roles that it lacks), or further
    parties that share the rows of the largest one."""

    name: str
    words: str
    protocols: frozenset[str]  # where it can be had
    closes: frozenset[SecretKind]
    settings: tuple[tuple[str, ScalarValue], ...] = ()
    defense: str = ""
    protocol: str = ""
    further_parties: int = 0
    approximations: frozenset[str] = frozenset()  # of the sigmoid, under which it closes anything; all if empty

    def fits(self, facts: Facts) -> bool:
        """Whether it can be had here, and closes what it says here."""
        holds = not self.approximations or facts.approximation in self.approximations
        return facts.protocol in self.protocols and holds


OF_VERTICAL_TRAINING = frozenset(
    {
        SecretKind.LABELS,
        SecretKind.RESIDUALS,
        SecretKind.PARTIAL_SCORES,
        SecretKind.FEATURES,
        SecretKind.GRAM,
    }
)

SECRET_SHARED = Countermeasure(
    "secret-shared gradients",
    'gradients = "secret-shared", so that nobody sees a gradient or weights',
    frozenset({"vertical-logistic"}),
    OF_VERTICAL_TRAINING,
    settings=(("gradients", "secret-shared"),),
)
SCORE_NOISE = Countermeasure(
    "noise on scores",
    "noise on the shared scores (the defense dp-paillier), at a cost to the model that an audit shows",
    frozenset({"vertical-logistic"}),
    OF_VERTICAL_TRAINING - {SecretKind.GRAM},
    defense="dp-paillier",
    # A piecewise residual keeps its sign, the label, whatever the noise; of the cubic one nothing was decided.
    approximations=frozenset({"taylor"}),
)
NO_ARBITER = Countermeasure(
    "no arbiter",
    'no arbiter at all: protocol = "vertical-logistic" with gradients = "secret-shared"',
    frozenset({"vertical-logistic-arbiter"}),
    OF_VERTICAL_TRAINING,
    settings=(("gradients", "secret-shared"),),
    protocol="vertical-logistic",
)
UPDATE_NOISE = Countermeasure(
    "noise on updates",
    "noise on the updates (the defense update-noise), at a cost to the model that an audit shows",
    frozenset({"horizontal-logistic"}),
    frozenset({SecretKind.COLUMN_PRODUCTS}),
    defense="update-noise",
)
MORE_PARTIES = Countermeasure(
    "more parties",
    "three or more parties outside the coalition, under secure aggregation",
    frozenset({"horizontal-linear"}),
    frozenset({SecretKind.FEATURES}),
    settings=(("secure_aggregation", True),),
    further_parties=2,
)
HIDDEN_MODEL = Countermeasure(
    "hidden model",
    "a model that the partner does not get (the defense hidden-model)",
    frozenset({"vertical-prediction"}),
    frozenset({SecretKind.FEATURES}),
    defense="hidden-model",
)
SIZE_ALONE = Countermeasure(
    "size alone",
    'how many people both have in place of whom (output = "size"): enough to decide on a federation, not to train',
    frozenset({"entity-alignment"}),
    frozenset({SecretKind.MEMBERS}),
    settings=(("matching", "elliptic-curve"), ("output", "size")),
)
UNOPENED = (SECRET_SHARED, NO_ARBITER)
VERTICAL = (*UNOPENED, SCORE_NOISE)
COUNTERMEASURES = (*VERTICAL, UPDATE_NOISE, MORE_PARTIES, HIDDEN_MODEL, SIZE_ALONE)
