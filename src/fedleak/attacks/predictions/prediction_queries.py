"""A passive party's weights from its prediction service (Li et al. 2021, section 4.1).

The service adds up weights times values, and says the sum in plaintext: the unit rows name the weights one by one,
and a row of zeros the intercept, which makes the paper's n + 1 queries.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import BudgetSpentError, MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.oracle import Oracle
from fedleak.core.payload import Array
from fedleak.core.view import View


class PredictionQueries(Attack):
    name = "prediction-queries"
    summary = "asks the prediction service about unit rows, which names the victim's weights"
    reference = Reference("li2021", "section 4.1")
    requires = frozenset({Capability.PREDICTION_SERVICE})
    produces = SecretKind.WEIGHTS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        weights = stolen_weights(view)
        if weights is None:
            raise MissingFromViewError(f"the view holds no prediction service of {view.target.owner}")
        answered = np.isfinite(weights)
        return Guess(
            view.target,
            Status.RECOVERED if answered.all() else Status.PARTIAL,
            np.arange(len(weights), dtype=np.int64),
            weights[:, None],
            evidence={"queries": len(weights) + 1},
            why="a linear score of a unit row is a weight",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is None:
            return Prediction(Verdict.UNKNOWN, ("whether there is a prediction service is not known",))
        if Capability.PREDICTION_SERVICE in facts.capabilities:
            return Prediction(Verdict.EXACT, ("n + 1 independent queries determine n weights and an intercept",))
        return Prediction(Verdict.IMPOSSIBLE, ("there is no prediction service to query",))


def stolen_weights(view: View) -> FloatArray | None:
    """The victim's final weights, or None without a service; NaN for those that the budget did not reach."""
    oracle = view.oracles.get(f"partial-score:{view.target.owner}")
    width = view.facts.party(view.target.owner).n_features
    if oracle is None or width is None:
        return None
    intercept = _ask(oracle, np.zeros(width))
    found = np.array([_ask(oracle, row) for row in np.eye(width)])
    return np.asarray(found - (0.0 if np.isnan(intercept) else intercept))


def whole_weights(view: View) -> FloatArray | None:
    """The stolen weights where they fix a direction: every query was answered, and not all of them are zero."""
    weights = stolen_weights(view)
    return weights if weights is not None and np.isfinite(weights).all() and np.any(weights != 0) else None


def _ask(oracle: Oracle, row: FloatArray) -> float:
    try:
        answer = oracle.query(Array(row[None, :]))
    except BudgetSpentError:
        return float("nan")
    payload = answer.messages[-1].payload
    if not isinstance(payload, Array) or payload.values.shape != (1,):
        raise MissingFromViewError(f"{oracle.spec.name} must answer a row with one number")
    return float(payload.values[0])
