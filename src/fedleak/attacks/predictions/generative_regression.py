"""Generative regression network (Luo et al. 2021, section V): a network learns to fill in the unknown columns.

It is trained on all predictions so that the model, given own and generated columns, answers as it really did. Where no
gradient passes through the model (a forest, an opaque model), a surrogate network that imitates the model on dummy
samples stands in (section V-B).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedleak.attacks.predictions.generator import (
    Generated,
    GenerativeRegression,
    GeneratorOptions,
    Observed,
    TorchFunction,
    differentiable,
)
from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.attacks.verdicts import model_not_revealed
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.joint_training import load_torch
from fedleak.models.model import Model
from fedleak.models.score_models import LinearModel, NetworkModel

NOISE_VARIANCE = "variance of a value over its noise"


@dataclass(frozen=True)
class GenerativeRegressionNetwork(Attack):
    name = "generative-regression"
    aliases = ("grna",)
    summary = "trains a network to generate the unknown columns so that the model answers as it did"
    reference = Reference("luo2021", "section V, algorithm 2")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    preloads = ("scipy.special", "torch", "torch._dynamo")  # the last by torch's optimisers
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


SURROGATE_HIDDEN = (2000, 200)
SAMPLES_PER_ROW = 10
MIN_SAMPLES = 2000
SURROGATE_EPOCHS = 5
SURROGATE_BATCH_ROWS = 64
SURROGATE_LEARNING_RATE = 1e-3


def surrogate(
    torch: Any, model: Model, own: FloatArray, own_positions: IntArray, rng: np.random.Generator, scale: float = 1.0
) -> TorchFunction:
    """Trained on the model's own outputs for dummy samples; ``scale`` shrinks layers and samples.

    The unknown columns of a dummy are uniform over the box, as in the paper. Its own columns are those of a real row,
    which the attacker has: there the surrogate has to be good.
    """
    width = len(model.columns)
    dummies = rng.random((max(MIN_SAMPLES, int(SAMPLES_PER_ROW * len(own) * scale)), width))
    dummies[:, own_positions] = own[rng.integers(len(own), size=len(dummies))]
    # Own columns may be in any unit; those that lie in the unit interval, as the paper's do, stay as they are.
    low = torch.tensor(np.minimum(dummies.min(axis=0), 0.0), dtype=torch.float32)
    span = torch.tensor(np.maximum(dummies.max(axis=0), 1.0), dtype=torch.float32) - low
    inputs = (torch.tensor(dummies, dtype=torch.float32) - low) / span
    wanted = torch.tensor(model.confidences(dummies), dtype=torch.float32)
    first, second = (max(8, int(size * scale)) for size in SURROGATE_HIDDEN)
    net = torch.nn.Sequential(
        torch.nn.Linear(width, first),
        torch.nn.ReLU(),
        torch.nn.Linear(first, second),
        torch.nn.ReLU(),
        torch.nn.Linear(second, model.n_classes),
        torch.nn.Sigmoid(),
    )
    optimiser = torch.optim.Adam(net.parameters(), lr=SURROGATE_LEARNING_RATE)
    for _ in range(SURROGATE_EPOCHS):
        order = torch.randperm(len(inputs))
        for start in range(0, len(order), SURROGATE_BATCH_ROWS):
            batch = order[start : start + SURROGATE_BATCH_ROWS]
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(net(inputs[batch]), wanted[batch]).backward()
            optimiser.step()
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    return lambda rows: net((rows - low) / span)
