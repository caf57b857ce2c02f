"""Generative regression network (Luo et al. 2021, section V): a network learns to fill in the unknown columns.

It is trained on all predictions so that the model, given own and generated columns, answers as it really did. Where no
gradient passes through the model (a forest, an opaque model), a surrogate network that imitates the model stands in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedleak.attacks.expectation import model_not_revealed
from fedleak.attacks.generative.differentiable import differentiable
from fedleak.attacks.generative.generator import Generated, GenerativeRegression, GeneratorOptions, Observed
from fedleak.attacks.generative.surrogate import surrogate
from fedleak.attacks.predictions import PredictionCase, read_case
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.linear import LinearModel
from fedleak.models.network import NetworkModel
from fedleak.models.training.network import load_torch

NOISE_VARIANCE = "variance of a value over its noise"


@dataclass(frozen=True)
class GenerativeRegressionNetwork(Attack):
    name = "generative-regression"
    aliases = ("grna",)
    summary = "trains a network to generate the unknown columns so that the model answers as it did"
    reference = Reference("luo2021", "section V, algorithm 2")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES
    measured_by = "mse-per-feature"

    options: GeneratorOptions = field(default_factory=GeneratorOptions)
    surrogate_scale: float = 1.0

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        case.require_box()
        generated = self._generate(case, rng)
        evidence = {
            "rows": len(case.ids),
            "unknown columns": case.n_unknown,
            "epochs": generated.epochs,
            "loss a row on the view": generated.loss,
            NOISE_VARIANCE: generated.noise_variance,
            "through a surrogate": not isinstance(case.model, LinearModel | NetworkModel),
        }
        why = "generated columns reproduce the predictions; no theorem says that they are the true ones"
        return case.guess(view, Status.PARTIAL, generated.values, why=why, evidence=evidence)

    def _generate(self, case: PredictionCase, rng: np.random.Generator) -> Generated:
        torch = load_torch("the generative regression network")
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            if isinstance(case.model, LinearModel | NetworkModel):
                model = differentiable(torch, case.model)
            else:
                model = surrogate(torch, case.model, case.own, case.own_positions, rng, self.surrogate_scale)
            observed = Observed(case.own, case.confidences, case.own_positions, case.unknown_positions)
            return GenerativeRegression(torch, model, observed, self.options).train()

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        return Prediction(
            Verdict.PARTIAL, ("as good as own columns and predictions tell of the others; no theorem bounds it",)
        )
