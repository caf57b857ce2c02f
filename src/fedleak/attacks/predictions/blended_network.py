"""A served network's unknown columns, where a row has fewer equations than unknowns: several answers, averaged.

The first rests on a regression that all rows share and sees the network as linear (``mixed_effects``). A small
generator goes through the network itself and matches the log-ratios of the confidences: the more the network bends
where the rows are, which the view shows, the more it counts. Both begin at the same column means. Where equations are
few these may be wrong for all rows at once, so an ensemble of draws, and a generator that begins at its means, have
their say. All weights follow from the view.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.ensemble import columns_of, invert_black_box
from fedleak.attacks.predictions.generator import (
    GenerativeRegression,
    GeneratorOptions,
    Observed,
    differentiable_ratios,
)
from fedleak.attacks.predictions.mixed_effects import N_STEPS_DETERMINED, invert_scores
from fedleak.attacks.predictions.network_rows import (
    NetworkScores,
    onto_predictions,
    restarted,
    wanted_differences,
)
from fedleak.attacks.predictions.prediction_case import PredictionCase
from fedleak.core.arrays import FloatArray
from fedleak.models.joint_training import load_torch
from fedleak.models.score_models import NetworkModel

SMALL = GeneratorOptions(hidden=(200, 100), epochs=40, learning_rate=3e-4)
# Weight of the generator's answer where a row's equations fix nothing: for a straight network, and for a bent one.
LEAST_GENERATED, MOST_GENERATED = 0.4, 0.7
STRAIGHT, BENT = 0.2, 0.4  # variance that linearisation misses, over what it explains
# Equations over unknowns: the fewer, the more rests on what is common to all rows, which linearising may get wrong for
# all of them at once. Then the answer is averaged with one that was reached without it.
LITTLE_FIXED, MUCH_FIXED = 0.15, 0.35
MOST_DOUBT = 0.5
FROM_DRAWN_MEANS = 0.65  # weight of the generator beside the ensemble that it began at
N_STEPS_BLENDED = 6


@dataclass(frozen=True, eq=False)
class Blend:
    values: FloatArray
    generated: float  # weight of the generators
    doubt: float  # weight of what only draws have led to


def blended_network(case: PredictionCase, rng: np.random.Generator) -> Blend:
    model = case.model
    assert isinstance(model, NetworkModel)
    scores, wanted = NetworkScores(model), wanted_differences(case, model.link)
    inverted = invert_scores(case, scores, wanted, rng)
    fixed = min(1.0, wanted[0].shape[1] / case.n_unknown)
    if fixed == 1:  # a row has as many equations as unknowns
        return Blend(restarted(case, scores, wanted, inverted.values, N_STEPS_DETERMINED, rng), 0.0, 0.0)
    share = (LEAST_GENERATED + (MOST_GENERATED - LEAST_GENERATED) * _ramp(inverted.bend, STRAIGHT, BENT)) * (1 - fixed)
    believed = _mean(inverted.values, _generated(case, model, wanted, inverted.values.mean(axis=0), rng), share)
    open_ways = _ramp(-fixed, -MUCH_FIXED, -LITTLE_FIXED)
    doubt = MOST_DOUBT * open_ways
    doubted = _from_draws(case, model, wanted, rng) if doubt else believed
    blended = _mean(believed, doubted, doubt)
    # Where a row's equations fix little, the nearest of all rows that meet them is no better founded than the blend.
    met = onto_predictions(case, scores, wanted, inverted.spread, blended, N_STEPS_BLENDED)
    return Blend(_mean(met, blended, open_ways), (1 - doubt) * share + doubt * FROM_DRAWN_MEANS, doubt)


def _mean(one: FloatArray, other: FloatArray, weight_of_other: float) -> FloatArray:
    return np.asarray(one + weight_of_other * (other - one))


def _ramp(value: float, low: float, high: float) -> float:
    return float(np.clip((value - low) / (high - low), 0.0, 1.0))


def _from_draws(
    case: PredictionCase, model: NetworkModel, wanted: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> FloatArray:
    """An ensemble's answer, which believes no more than its draws show, and a generator's that begins at its means."""
    drawn = invert_black_box(case, columns_of(case, rng))
    return _mean(drawn, _generated(case, model, wanted, drawn.mean(axis=0), rng), FROM_DRAWN_MEANS)


def _generated(
    case: PredictionCase,
    model: NetworkModel,
    wanted: tuple[FloatArray, FloatArray],
    start: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """A small generator's answer, from the given column means. Log-ratios count by their spread and errors."""
    torch = load_torch("posterior inference on a network")
    ratios, variance = wanted
    weights = 1.0 / (ratios.var(axis=0) + np.einsum("nkk->nk", variance) + LEAST_VARIANCE)
    observed = Observed(case.own, ratios, case.own_positions, case.unknown_positions, weights, start)
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        return GenerativeRegression(torch, differentiable_ratios(torch, model), observed, SMALL).train().values


LEAST_VARIANCE = 1e-6
