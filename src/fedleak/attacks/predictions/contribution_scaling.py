"""Values from explanations: a column's contribution is an affine function of its value.

Luo et al. 2021 (section VII) leave open what explanations leak in place of the model. For a linear score the
contributions of a column over many rows are its values, shifted and scaled. The known range undoes both; what is left
is the sign of the parameter, by which the column may come out mirrored. Contributions do not tell it: the hidden
columns are taken to be skewed to the same side as the adversary's own.
"""

from __future__ import annotations

import json

import numpy as np

from fedleak.attacks.predictions.equality_bayes import prior_of_columns
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Scalar, Table
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.prediction import vocabulary as prediction


class ContributionScaling(Attack):
    name = "contribution-scaling"
    summary = "rescales each column's contributions to its known range: explanations are the values"
    reference = Reference("fedleak", "answers a question of luo2021, section VII")
    requires = frozenset({Capability.OWN_FEATURES, Capability.CONTRIBUTIONS, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        table = _contributions(view)
        names = _names_of(view, view.target.owner)
        own = np.hstack([view.table(FEATURES, member).values for member in view.coalition])
        mean = float(prior_of_columns(np.asarray(own, dtype=np.float64), 1).mean[0])
        predicted = _predicted(view)
        columns = [_rescaled(np.asarray(table.values)[:, table.columns.index(name)], predicted, mean) for name in names]
        values = np.column_stack(columns)
        return Guess(
            view.target,
            Status.PARTIAL,
            np.asarray(table.ids, dtype=np.int64),
            values,
            evidence={"columns": len(names), "mean of own columns": mean},
            why="contributions are values times a parameter; only its sign is guessed",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and Capability.CONTRIBUTIONS not in facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("no contributions are revealed",))
        return Prediction(Verdict.PARTIAL, ("contributions of a linear score are values up to scale and sign",))


def _rescaled(contribution: FloatArray, predicted: IntArray, own_mean: float) -> FloatArray:
    """Contributions of each predicted class on one scale, then on the unit interval, skewed like own columns.

    Rows of one class share a parameter, so they are affine in the value. The class with the most rows sets the scale;
    for two classes the parameters are opposite, so the other class's contributions change their sign.
    """
    classes, counts = np.unique(predicted, return_counts=True)
    merged = contribution.copy()
    if len(classes) == 2:
        merged[predicted == classes[np.argmin(counts)]] *= -1
    elif len(classes) > 2:
        for number in classes:
            mine = predicted == number
            spread = np.ptp(merged[mine])
            merged[mine] = (merged[mine] - merged[mine].min()) / spread if spread > 0 else 0.5
    spread = np.ptp(merged)
    unit = (merged - merged.min()) / spread if spread > 0 else np.full(len(merged), own_mean)
    mirrored = abs(unit.mean() - own_mean) > abs(1 - unit.mean() - own_mean)
    return np.asarray(1 - unit if mirrored else unit)


def _contributions(view: View) -> Table:
    for message in view.at(prediction.CONTRIBUTIONS):
        if isinstance(message.payload, Table):
            return message.payload
    raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no contributions")


def _predicted(view: View) -> IntArray:
    for message in view.at(prediction.CONFIDENCES):
        if isinstance(message.payload, Array):
            return np.asarray(np.argmax(np.nan_to_num(message.payload.values), axis=1), dtype=np.int64)
    raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no predictions")


def _names_of(view: View, party: str) -> list[str]:
    for message in view.at(prediction.COLUMNS):
        if message.sender == party and isinstance(message.payload, Scalar):
            return [str(name) for name in json.loads(str(message.payload.value))]
    raise MissingFromViewError(f"{party} published no column names")
