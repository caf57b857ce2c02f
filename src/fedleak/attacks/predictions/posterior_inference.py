"""The unknown columns' posterior mean under any served model.

Linear models: exactly, row by row, also where a service hides one: its answers give the weights. Forests, and other
models that can only be asked: from an ensemble of draws, of columns that spread as a forest's counts of training rows
say. Networks, and smooth models that can only be asked: own columns predict the unknown ones by a regression that all
predictions together teach, and each row is moved onto its own prediction (of networks: ``blended_network``).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes, filled_guess
from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.attacks.verdicts import model_not_revealed
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.models.opaque import OpaqueModel
from fedleak.models.score_models import LinearModel, NetworkModel
from fedleak.protocols.prediction.vocabulary import PredictionFacts


class PosteriorInference(Attack):
    name = "posterior-inference"
    summary = "the unknown columns' posterior mean, from own columns and all predictions, for any model"
    reference = Reference("fedleak", "in place of luo2021, section V")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    preloads = (
        "scipy.linalg",
        "scipy.special",
        "fedleak.attacks.predictions.blended_network",
        "fedleak.attacks.predictions.smooth_inversion",
    )
    produces = SecretKind.FEATURES
    measured_by = "mse-per-feature"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        by_label = case.release.top_label  # no equation holds then: any model is inverted by draws
        if isinstance(case.model, LinearModel) and not by_label:
            return filled_guess(view, case, partial(_closer, case, rng))
        case.require_box()
        if isinstance(case.model, OpaqueModel) and (hidden := _behind_service(view, case, rng)) is not None:
            return hidden
        evidence: dict[str, ScalarValue] = {"rows": len(case.ids), "unknown columns": case.n_unknown}
        if isinstance(case.model, NetworkModel) and not by_label:
            from fedleak.attacks.predictions.blended_network import blended_network  # its prediction needs none of it

            how, blend = "a regression on own columns", blended_network(case, rng)
            evidence |= {"weight of generators": blend.generated, "weight of draws": blend.doubt}
            values = _closer(case, rng, blend.values)
        else:
            from fedleak.attacks.predictions.ensemble import columns_of, invert_black_box

            columns = columns_of(case, rng)
            how, values = "an ensemble of draws", invert_black_box(case, columns)
            evidence |= {"prior mean": float(columns.mean.mean()), "prior": columns.source}
            if isinstance(case.model, OpaqueModel) and not by_label:
                how, values = _smooth(case, how, values, evidence, rng)
        return case.guess(view, Status.PARTIAL, values, why=f"posterior mean by {how}", evidence=evidence)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        if facts.of(PredictionFacts).model == "logistic":
            return EqualityBayes.predict(facts)
        return Prediction(Verdict.PARTIAL, ("as good as own columns and predictions tell of the others",))


def _closer(case: PredictionCase, rng: np.random.Generator, values: FloatArray) -> FloatArray:
    """Where confidences were rounded or have noise on them, a row takes the ensemble's answer if that gives what was
    released back better, and the mean of the two if they do alike: logarithms of few digits say little, the digits
    themselves more."""
    from fedleak.attacks.predictions.ensemble import columns_of, invert_black_box

    if case.release.is_exact or not case.has_box:
        return values
    drawn = invert_black_box(case, columns_of(case, rng))
    share = (1.0 + np.sign(_outside(case, values) - _outside(case, drawn))) / 2.0
    return np.asarray(values + share[:, None] * (drawn - values))


def _outside(case: PredictionCase, values: FloatArray) -> FloatArray:
    """(rows,): by how much the values' confidences lie outside what the released ones may have been, on average."""
    off = np.abs(case.model.confidences(case.inputs(values)) - case.release.centred(case.confidences))
    return np.asarray(np.maximum(off - case.release.reach, 0.0).mean(axis=1))


def _behind_service(view: View, case: PredictionCase, rng: np.random.Generator) -> Guess | None:
    """The answer from a logistic regression that a service hides; None where it hides none, or releases labels."""
    from fedleak.attacks.predictions.asked_scores import extracted_linear

    linear = None if case.release.top_label else extracted_linear(case, rng)
    if linear is None:
        return None
    found = filled_guess(view, replace(case, model=linear), partial(_closer, case, rng))
    # What theory calls exact is exact for weights that were sent, not for weights that were fitted to answers.
    status = Status.PARTIAL if found.status is Status.RECOVERED else found.status
    return replace(found, status=status, why=f"a logistic regression stands behind the service; {found.why}")


def _smooth(
    case: PredictionCase, how: str, drawn: FloatArray, evidence: dict[str, ScalarValue], rng: np.random.Generator
) -> tuple[str, FloatArray]:
    from fedleak.attacks.predictions.smooth_inversion import invert_smooth

    found = invert_smooth(case, drawn, rng)
    if found is None:
        return how, drawn
    evidence |= {"rows within the budget": found.n_rows, "rows that give their prediction back": found.n_met}
    return "slopes that the model's answers show", found.values
