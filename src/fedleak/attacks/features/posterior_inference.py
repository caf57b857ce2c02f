"""The unknown columns' posterior mean under any served model, in closed form per row instead of by a generator.

The prior of a column is learnt from the adversary's own columns. Each row gets the linear system that its prediction
is: exactly (linear models), by iterated linearisation (networks) or from an ensemble of draws (forests and models that
can only be asked). On networks the answer is averaged with that of a small generator that starts at the prior's mean:
they err in different ways.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.attacks.equality.column_prior import ColumnPrior, prior_of_columns
from fedleak.attacks.features.equality_bayes import EqualityBayes
from fedleak.attacks.generative.differentiable import differentiable
from fedleak.attacks.generative.generator import GenerativeRegression, GeneratorOptions, Observed
from fedleak.attacks.posterior.ensemble import invert_black_box
from fedleak.attacks.posterior.linearised import invert_network
from fedleak.attacks.predictions import PredictionCase, read_case
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.linear import LinearModel
from fedleak.models.network import NetworkModel
from fedleak.models.training.network import load_torch

ANCHORED = GeneratorOptions(
    hidden=(200, 100),
    epochs=40,
    learning_rate=3e-4,
    noise_input=False,
    confidence_input=True,
    constraint=False,
    anchor_weight=0.03,
)


class PosteriorInference(Attack):
    name = "posterior-inference"
    summary = "the unknown columns' posterior mean, from own columns and all predictions, for any model"
    reference = Reference("fedleak", "in place of luo2021, section V")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES
    measured_by = "mse-per-feature"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        by_label = case.release.top_label  # no equation holds then: any model is inverted by draws
        if isinstance(case.model, LinearModel) and not by_label:
            return EqualityBayes().run(view, rng=rng)
        if not case.has_box:
            raise MissingFromViewError("it needs the victim's feature ranges; declare them as knowledge")
        prior = prior_of_columns(case.own, case.n_unknown)
        if isinstance(case.model, NetworkModel) and not by_label:
            how, values = "iterated linearisation and an anchored generator", _network(case, case.model, prior, rng)
        else:
            how, values = "an ensemble of draws", invert_black_box(case, prior, rng)
        evidence = {"rows": len(case.ids), "unknown columns": case.n_unknown, "prior mean": float(prior.mean[0])}
        return case.guess(view, Status.PARTIAL, values, why=f"posterior mean by {how}", evidence=evidence)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and not cls.requires <= facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("the model or its predictions are not revealed",))
        if facts.options.get("model") == "logistic":
            return EqualityBayes.predict(facts)
        return Prediction(Verdict.PARTIAL, ("as good as own columns and predictions tell of the others",))


def _network(case: PredictionCase, model: NetworkModel, prior: ColumnPrior, rng: np.random.Generator) -> FloatArray:
    torch = load_torch("posterior inference on a network")
    options = replace(ANCHORED, anchor=float(np.clip(prior.mean[0], 0.02, 0.98)))
    observed = Observed(case.own, case.confidences, case.own_positions, case.unknown_positions)
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        generated = GenerativeRegression(torch, differentiable(torch, model), observed, options).train()
    return (invert_network(case, model, prior) + generated.values) / 2
