"""The unknown columns' posterior mean under any served model.

Linear models: exactly, row by row, also where a service hides one: its answers give the weights. Forests, and other
models that can only be asked: from an ensemble of draws. Networks, and smooth models that can only be asked: own
columns predict the unknown ones by a regression that all predictions together teach, and each row is moved onto its
own prediction. Where a row's equations fix few of a network's unknowns the answer rests on that regression and is
averaged with a small generator's, which assumes other things: by Jensen's inequality the average errs no more than the
two do on average.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes, filled_guess, prior_of_columns
from fedleak.attacks.predictions.generator import GenerativeRegression, GeneratorOptions, Observed, differentiable
from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.attacks.verdicts import model_not_revealed
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.models.joint_training import load_torch
from fedleak.models.opaque import OpaqueModel
from fedleak.models.score_models import LinearModel, Link, NetworkModel
from fedleak.protocols.prediction.vocabulary import PredictionFacts

SMALL = GeneratorOptions(hidden=(200, 100), epochs=40, learning_rate=3e-4)
MOST_GENERATED = 0.5  # weight of the generator's answer where a row's equations fix nothing


class PosteriorInference(Attack):
    name = "posterior-inference"
    summary = "the unknown columns' posterior mean, from own columns and all predictions, for any model"
    reference = Reference("fedleak", "in place of luo2021, section V")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    preloads = (
        "scipy.linalg",
        "scipy.special",
        "fedleak.attacks.predictions.ensemble",
        "fedleak.attacks.predictions.mixed_effects",
        "fedleak.attacks.predictions.smooth_inversion",
    )
    produces = SecretKind.FEATURES
    measured_by = "mse-per-feature"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        by_label = case.release.top_label  # no equation holds then: any model is inverted by draws
        if isinstance(case.model, LinearModel) and not by_label:
            return filled_guess(view, case)
        case.require_box()
        if isinstance(case.model, OpaqueModel) and (hidden := _behind_service(view, case, rng)) is not None:
            return hidden
        evidence: dict[str, ScalarValue] = {"rows": len(case.ids), "unknown columns": case.n_unknown}
        if isinstance(case.model, NetworkModel) and not by_label:
            share = _generated_share(case, case.model)
            how, values = "a regression on own columns", _network(case, case.model, share, rng)
            evidence["weight of the generator"] = share
        else:
            from fedleak.attacks.predictions.ensemble import invert_black_box  # its prediction needs none of it

            prior = prior_of_columns(case.own, case.n_unknown)
            how, values = "an ensemble of draws", invert_black_box(case, prior, rng)
            evidence["prior mean"] = float(prior.mean[0])
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


def _behind_service(view: View, case: PredictionCase, rng: np.random.Generator) -> Guess | None:
    """The answer from a logistic regression that a service hides; None where it hides none, or releases labels."""
    from fedleak.attacks.predictions.asked_scores import extracted_linear

    linear = None if case.release.top_label else extracted_linear(case, rng)
    if linear is None:
        return None
    found = filled_guess(view, replace(case, model=linear))
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


def _generated_share(case: PredictionCase, model: NetworkModel) -> float:
    """Of the generator in the answer: none where a row has as many equations as unknowns."""
    n_equations = model.n_classes if model.link is Link.SIGMOID_EACH else model.n_classes - 1
    return MOST_GENERATED * (1.0 - min(1.0, n_equations / case.n_unknown))


def _network(case: PredictionCase, model: NetworkModel, share: float, rng: np.random.Generator) -> FloatArray:
    from fedleak.attacks.predictions.mixed_effects import invert_scores  # its prediction needs none of it
    from fedleak.attacks.predictions.network_rows import NetworkScores, wanted_differences

    inverted = invert_scores(case, NetworkScores(model), wanted_differences(case, model.link), rng)
    if share == 0:
        return inverted
    torch = load_torch("posterior inference on a network")
    observed = Observed(case.own, case.confidences, case.own_positions, case.unknown_positions)
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        generated = GenerativeRegression(torch, differentiable(torch, model), observed, SMALL).train()
    return np.asarray((1.0 - share) * inverted + share * generated.values)
