"""The unknown columns' posterior mean under any served model.

Linear models: exactly, row by row. Forests, and models that can only be asked: from an ensemble of draws. Networks: own
columns predict the unknown ones by a regression that all predictions together teach, and each row is moved onto its
own prediction. Where a row's equations fix few of its unknowns the answer rests on that regression and is averaged with
a small generator's, which assumes other things: by Jensen's inequality the average errs no more than the two do on
average.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes, prior_of_columns
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
    )
    produces = SecretKind.FEATURES
    measured_by = "mse-per-feature"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        by_label = case.release.top_label  # no equation holds then: any model is inverted by draws
        if isinstance(case.model, LinearModel) and not by_label:
            return EqualityBayes().run(view, rng=rng)
        case.require_box()
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
        return case.guess(view, Status.PARTIAL, values, why=f"posterior mean by {how}", evidence=evidence)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        if facts.of(PredictionFacts).model == "logistic":
            return EqualityBayes.predict(facts)
        return Prediction(Verdict.PARTIAL, ("as good as own columns and predictions tell of the others",))


def _generated_share(case: PredictionCase, model: NetworkModel) -> float:
    """Of the generator in the answer: none where a row has as many equations as unknowns."""
    n_equations = model.n_classes if model.link is Link.SIGMOID_EACH else model.n_classes - 1
    return MOST_GENERATED * (1.0 - min(1.0, n_equations / case.n_unknown))


def _network(case: PredictionCase, model: NetworkModel, share: float, rng: np.random.Generator) -> FloatArray:
    from fedleak.attacks.predictions.mixed_effects import invert_network  # its prediction needs none of it

    inverted = invert_network(case, model, rng)
    if share == 0:
        return inverted
    torch = load_torch("posterior inference on a network")
    observed = Observed(case.own, case.confidences, case.own_positions, case.unknown_positions)
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        generated = GenerativeRegression(torch, differentiable(torch, model), observed, SMALL).train()
    return np.asarray((1.0 - share) * inverted + share * generated.values)
