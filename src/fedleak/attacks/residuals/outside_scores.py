"""The score that parties outside a coalition add, a value a row and round: the residual minus what is known.

Needs the labels: the coalition's own, or those that the residuals' signs gave (Hu et al. 2022, remark 4.9). Several
parties outside add up to one score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.residuals.batch_residuals import approximation_of, first_known, solved_batches
from fedleak.attacks.residuals.batch_systems import SolvedBatch
from fedleak.attacks.residuals.own_side import OwnNoise, OwnScore
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Prediction, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation, score_interval
from fedleak.theory.column_ratios import labels_known
from fedleak.theory.condition import Assessment, State, course_known, no_noise, revealed
from fedleak.theory.residual_equations import batch_within_columns

SENSITIVITY = {Approximation.TAYLOR: 4.0, Approximation.CUBIC: 8.0, Approximation.PIECEWISE: 1.0}


@dataclass(frozen=True, eq=False)
class OutsideRound:
    round: int
    rows: IntArray  # positions in ``OutsideScores.row_ids``
    residuals: FloatArray
    trained_with: FloatArray  # the residuals as the outside parties had them: with the coalition's own noise
    scores: FloatArray  # NaN where the residual or the approximation leaves it open
    low: FloatArray
    high: FloatArray
    error: float


@dataclass(frozen=True, eq=False)
class OutsideScores:
    row_ids: IntArray
    rounds: tuple[OutsideRound, ...]
    labels_by_sign: bool  # False where the coalition holds the labels

    @property
    def known_share(self) -> float:
        cells = np.concatenate([one.scores for one in self.rounds]) if self.rounds else np.zeros(0)
        return float(np.mean(np.isfinite(cells))) if len(cells) else 0.0


def outside_scores(view: View) -> OutsideScores:
    own = OwnScore(view)
    solved = list(solved_batches(view))
    by_sign = own.signs is None
    signs = _signs_from_residuals(own, solved) if own.signs is None else own.signs
    approximation = approximation_of(view)
    noise = OwnNoise(view)
    rounds = tuple(_outside_round(own, batch, signs, approximation, noise) for batch in solved)
    return OutsideScores(own.row_ids, rounds, by_sign)


def _outside_round(
    own: OwnScore, batch: SolvedBatch, signs: FloatArray, approximation: Approximation, noise: OwnNoise
) -> OutsideRound:
    """g of the outside = g - g of the coalition (eq. 10), g from f = g - 2y (eq. 5)."""
    rows = own.positions(batch.ids)
    inside = own.scores(batch.round, rows)
    value, low, high = score_interval(batch.residuals, signs[rows], approximation)
    error = SENSITIVITY[approximation] * batch.error
    trained_with = batch.residuals + noise.in_training(batch.round)
    return OutsideRound(
        batch.round, rows, batch.residuals, trained_with, value - inside, low - inside, high - inside, error
    )


def _signs_from_residuals(own: OwnScore, solved: list[SolvedBatch]) -> FloatArray:
    """-1 or +1 by criterion 4.2; NaN for a row whose residual was never determined."""
    ids, _, residuals = first_known(iter(solved))
    signs = np.full(len(own.row_ids), np.nan)
    signs[own.positions(ids)] = -np.sign(residuals)
    return signs


def predict_scores(facts: Facts, exact: Assessment, *, of_single_rows: bool) -> Prediction:
    """``exact`` asks for labels of the coalition's own; with two classes those of the residuals' signs do as well.
    Single rows may stand alone in a sparse column, and are then found in a batch of any size."""
    if facts.capabilities is None or Capability.TWO_CLASSES in facts.capabilities:
        own = revealed(Capability.LABELS, facts)
        conditions = tuple(labels_known(facts) if condition == own else condition for condition in exact.conditions)
        exact = replace(exact, conditions=conditions)
    failed = {condition for condition in exact.conditions if condition.state is State.FAILS}
    # Noise blurs an answer, and how far depends on its size; what else fails leaves the equations open.
    silent = {no_noise(facts), course_known(facts), *([batch_within_columns(facts)] if of_single_rows else [])}
    return from_assessment(exact, if_fails=Verdict.UNKNOWN if failed <= silent else Verdict.IMPOSSIBLE)
