"""The unknown columns' posterior mean under any served model.

Linear models: exactly, row by row, also where a service hides one: its answers give the weights. Forests, and other
models that can only be asked: from an ensemble of draws, of columns that spread as a forest's counts of training rows
say. Networks, and smooth models that can only be asked: own columns predict the unknown ones by a regression that all
predictions together teach, and each row is moved onto its own prediction. Where a row's equations fix few of a
network's unknowns the answer rests on that regression, which sees the network as linear. It is averaged with a small
generator's, which goes through the network itself and matches the log-ratios of the confidences: the more the network
bends where the rows are, which the view shows, the more it counts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes, filled_guess
from fedleak.attacks.predictions.generator import (
    GenerativeRegression,
    GeneratorOptions,
    Observed,
    differentiable_ratios,
)
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
from fedleak.models.score_models import LinearModel, NetworkModel
from fedleak.protocols.prediction.vocabulary import PredictionFacts

SMALL = GeneratorOptions(hidden=(200, 100), epochs=40, learning_rate=3e-4)
# Weight of the generator's answer where a row's equations fix nothing: for a straight network, and for a bent one.
LEAST_GENERATED, MOST_GENERATED = 0.4, 0.7
STRAIGHT, BENT = 0.2, 0.4  # variance that linearisation misses, over what it explains


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
            return filled_guess(view, case, partial(_closer, case, rng))
        case.require_box()
        if isinstance(case.model, OpaqueModel) and (hidden := _behind_service(view, case, rng)) is not None:
            return hidden
        evidence: dict[str, ScalarValue] = {"rows": len(case.ids), "unknown columns": case.n_unknown}
        if isinstance(case.model, NetworkModel) and not by_label:
            how, (values, evidence["weight of the generator"]) = "a regression on own columns", _network(case, rng)
            values = _closer(case, rng, values)
        else:
            from fedleak.attacks.predictions.ensemble import (
                columns_of,
                invert_black_box,
            )  # its prediction needs none of it

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


N_STEPS_BLENDED = 6


def _network(case: PredictionCase, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Values, and the generator's weight in them."""
    from fedleak.attacks.predictions.mixed_effects import N_STEPS_DETERMINED, invert_scores
    from fedleak.attacks.predictions.network_rows import (
        NetworkScores,
        onto_predictions,
        restarted,
        wanted_differences,
    )

    model = case.model
    assert isinstance(model, NetworkModel)
    scores, wanted = NetworkScores(model), wanted_differences(case, model.link)
    inverted = invert_scores(case, scores, wanted, rng)
    bent = np.clip((inverted.bend - STRAIGHT) / (BENT - STRAIGHT), 0.0, 1.0)
    most = LEAST_GENERATED + (MOST_GENERATED - LEAST_GENERATED) * bent
    share = float(most * (1.0 - min(1.0, wanted[0].shape[1] / case.n_unknown)))
    if share == 0:  # a row has as many equations as unknowns
        return restarted(case, scores, wanted, inverted.values, N_STEPS_DETERMINED, rng), share
    generated = _generated(case, model, wanted, inverted.values.mean(axis=0), rng)
    blended = (1.0 - share) * inverted.values + share * generated
    return onto_predictions(case, scores, wanted, inverted.spread, blended, N_STEPS_BLENDED), share


def _generated(
    case: PredictionCase,
    model: NetworkModel,
    wanted: tuple[FloatArray, FloatArray],
    start: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """A small generator's answer, from the inversion's column means. Log-ratios count by their spread and errors."""
    torch = load_torch("posterior inference on a network")
    ratios, variance = wanted
    weights = 1.0 / (ratios.var(axis=0) + np.einsum("nkk->nk", variance) + LEAST_VARIANCE)
    observed = Observed(case.own, ratios, case.own_positions, case.unknown_positions, weights, start)
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        return GenerativeRegression(torch, differentiable_ratios(torch, model), observed, SMALL).train().values


LEAST_VARIANCE = 1e-6
