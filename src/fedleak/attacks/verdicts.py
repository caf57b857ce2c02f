"""What an attack says where a theorem speaks for it, and where it has no answer.

Before a run: a theorem's assessment becomes a prediction, also for members that open their partners' shares by packed
products. After one: why the view does not identify the secret, as a guess without values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.attack import Guess, Prediction, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.theory.condition import Assessment, State, no_noise
from fedleak.theory.packed_equations import PackedEquations, enough_slots
from fedleak.theory.residual_equations import UniqueResiduals, rows_of_last_batch


def from_assessment(assessment: Assessment, *, if_fails: Verdict = Verdict.IMPOSSIBLE) -> Prediction:
    """Exact where the theorem holds; ``if_fails`` where a condition is broken."""
    verdict = {State.HOLDS: Verdict.EXACT, State.FAILS: if_fails, State.UNKNOWN: Verdict.UNKNOWN}[assessment.state]
    lead = f"{assessment.theorem}: {assessment.conclusion}" if verdict is Verdict.EXACT else assessment.theorem
    unknown = tuple(c.statement for c in assessment.conditions if c.state is State.UNKNOWN)
    return Prediction(verdict, (lead, *assessment.reasons), unknown if assessment.state is State.UNKNOWN else ())


def last_batch_alone(facts: Facts, prediction: Prediction) -> Prediction:
    """Where batches are too large and the last one of an epoch is not, what it holds is found, in every epoch anew."""
    last, width, size = rows_of_last_batch(facts), facts.n_adversary_features, facts.batch_size
    if prediction.verdict is not Verdict.UNKNOWN or last is None or width is None or size is None:
        return prediction
    if not last <= width < size or no_noise(facts).state is not State.HOLDS:
        return prediction
    reason = f"the last batch of every epoch has {last} rows, no more than the {width} own columns: it is solved"
    return Prediction(Verdict.PARTIAL, (reason, *prediction.reasons))


def model_not_revealed(requires: frozenset[Capability], facts: Facts) -> Prediction | None:
    """What attacks on predictions expect where the coalition is known to lack what they need; otherwise nothing."""
    if facts.capabilities is None or requires <= facts.capabilities:
        return None
    return Prediction(Verdict.IMPOSSIBLE, ("the model or its predictions are not revealed",))


PACKED_DEVIATION = "packed-products"
PACKED_REQUIRES = frozenset(
    {
        Capability.OWN_FEATURES,
        Capability.OWN_WEIGHTS,
        Capability.BATCH_IDS,
        Capability.CIPHERTEXTS,
        Capability.TWO_CLASSES,
    }
)


def predict_packed(facts: Facts, assessment: Assessment) -> Prediction:
    """A theorem's prediction with the passive condition s <= d replaced by s <= u d."""
    passive = {condition.statement for condition in UniqueResiduals.assess(facts).conditions}
    others = tuple(condition for condition in assessment.conditions if condition.statement not in passive)
    packed = PackedEquations.assess(facts)
    merged = Assessment(
        packed.theorem, (*packed.conditions, *others), f"{packed.conclusion}; {assessment.conclusion}", packed.remedies
    )
    # A round without slots enough is an honest one, which the gradients of all members may still solve: in whole where
    # they hold as many columns as the batch has rows, in part where a row stands alone in a sparse column. Where
    # another condition fails, noise above all, the theorem is silent about what can still be had.
    blind = facts.n_adversary_features == 0 and enough_slots(facts).state is State.FAILS
    return from_assessment(merged, if_fails=Verdict.IMPOSSIBLE if blind else Verdict.UNKNOWN)


def in_part(rank: int, n_unknowns: int) -> str:
    """Of an answer of least norm: what is not determined is not nothing learnt."""
    return f"{rank} of {n_unknowns} directions are determined; the rest is filled with nothing"


@dataclass(frozen=True)
class NotIdentified:
    why: str
    rank: int
    undetermined: bool = False  # a search ended without an answer: that there is none is not shown


def unsolved(view: View, found: NotIdentified, *, width: int) -> Guess:
    status = Status.UNDETERMINED if found.undetermined else Status.NOT_IDENTIFIABLE
    return nothing(view, found.why, {"rank": found.rank}, width=width, status=status)


def nothing(
    view: View,
    why: str,
    evidence: Mapping[str, ScalarValue],
    *,
    width: int,
    status: Status = Status.NOT_IDENTIFIABLE,
) -> Guess:
    """The answer of an attack that can say why there is none. Not identifiable is a theorem, or a rank that was
    computed from the view; a search that ended, missing digits or an assumption that fails are undetermined."""
    ids = np.zeros(view.target.kind.indexed_by.shape_of(0), dtype=np.int64)
    return Guess(view.target, status, ids, np.zeros((0, width)), evidence=evidence, why=why)
