"""The one column outside the coalition, up to sign (Hu et al. 2022, theorem 3.5; by a passive party: remark 4.9).

Its scores are w_t x_i: ratios of rows within a batch, joined over epochs, and the scale from the weights' course (eq.
13). Through packed products the same for larger batches (section 5.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.outside_scores import OutsideScores, outside_scores
from fedleak.attacks.residuals.own_side import OWN_TRAINING, rate_of, shrink_of
from fedleak.attacks.residuals.ratio_forest import Observations, RankOne, join_products, refine
from fedleak.attacks.verdicts import PACKED_DEVIATION, PACKED_REQUIRES, from_assessment, nothing, predict_packed
from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.theory.column_ratios import SingleFeature
from fedleak.theory.condition import Assessment, n_outside_features
from fedleak.theory.sigmoid_approximations import CubicFeature, PiecewiseFeature

GOOD_FIT = 1e-3  # misfit up to which one column explains the scores


class SingleColumnRecovery(Attack):
    name = "single-column-recovery"
    summary = "joins the scores of all batches into the values of the one column outside"
    reference = Reference("hu2022", "theorem 3.5, remark 4.9")
    requires = OWN_TRAINING
    produces = SecretKind.FEATURES
    up_to = frozenset({Symmetry.GLOBAL_SIGN})

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        width = view.facts.party(view.target.owner).n_features or 1
        if n_outside_features(view.facts) not in (None, 1):  # where nobody says how many, the fit tells
            return nothing(view, _hardness(view.facts), {}, width=width)
        found = outside_scores(view)
        if found.known_share == 0.0:
            why = "no batch has as many independent equations as rows, so no score is determined"
            return nothing(view, why, {}, width=width)
        column = recover_column(scored_rounds(view.facts, found), len(found.row_ids))
        if column is None:
            why = "the scores do not move as those of one column would"
            return nothing(view, why, {}, width=width, status=Status.UNDETERMINED)
        return _guess(view, found, column)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(assess_single_column(facts), if_fails=if_fails(facts))


def assess_single_column(facts: Facts) -> Assessment:
    by_approximation = {Approximation.CUBIC: CubicFeature, Approximation.PIECEWISE: PiecewiseFeature}
    theorem = next((found for name, found in by_approximation.items() if name == facts.approximation), None)
    return (theorem or SingleFeature).assess(facts)


def if_fails(facts: Facts) -> Verdict:
    """Too many columns end it (theorem 3.6). With noise or too few epochs the theorem is silent, and with too few
    equations it is about rows in general position."""
    return Verdict.IMPOSSIBLE if n_outside_features(facts) not in (None, 1) else Verdict.UNKNOWN


def _guess(view: View, found: OutsideScores, column: Column) -> Guess:
    known = np.isfinite(column.values)
    clean = column.misfit < GOOD_FIT and column.scale_misfit < GOOD_FIT
    return Guess(
        view.target,
        Status.RECOVERED if known.all() and clean else Status.PARTIAL,
        found.row_ids,
        column.values[:, None],
        evidence={
            "rows joined": int(known.sum()),
            "zero cells, which link nothing": column.n_zero,
            "separate sets of rows": column.n_sets,
            "misfit of one column": column.misfit,
            "misfit of the weights' course": column.scale_misfit,
            "labels read off the sign first": found.labels_by_sign,
        },
        why="ratios within batches, joined over epochs; the scale from the weights' course (eq. 13)",
    )


def _hardness(facts: Facts) -> str:
    return (
        f"{n_outside_features(facts)} columns lie outside the coalition: scores determine two or more only up to a "
        "rotation (theorem 3.6); see score-recovery and gram-recovery for what they still give away"
    )


class PackedSingleColumn(SingleColumnRecovery):
    name = "packed-single-column"
    summary = "recovers the one column outside from scores that packed products opened"
    reference = Reference("hu2022", "algorithm 2 and theorem 3.5")
    requires = PACKED_REQUIRES
    deviation = PACKED_DEVIATION

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        prediction = predict_packed(facts, assess_single_column(facts))
        if prediction.verdict is Verdict.UNKNOWN and n_outside_features(facts) not in (None, 1):
            return Prediction(Verdict.IMPOSSIBLE, prediction.reasons)
        return prediction


LINK_STRENGTH = 50.0  # a score this many times its error is not zero, and links its row to others


@dataclass(frozen=True, eq=False)
class Column:
    values: FloatArray  # NaN where not determined
    n_zero: int  # cells that are zero: they link nothing, and are known to be zero
    n_sets: int
    misfit: float  # root mean square of what one column leaves unexplained, over that of the scores
    scale_misfit: float  # the same for the weights' course, which fixes the scale


def recover_column(rounds: Sequence[ScoredRound], n_rows: int) -> Column | None:
    """None where no scale can be had: nothing links, or the weights' course contradicts a real scale."""
    seen, links, silent = _observe(rounds)
    if not len(links.value):
        return None
    joined = refine(join_products(links, len(rounds), n_rows), links)
    zero = _zero_rows(seen, links, silent, joined, n_rows)
    rows = np.where(zero, 0.0, joined.rows)
    scale, scale_misfit = _scale(rounds, rows, joined.weights)
    if scale is None:
        return None
    explained = joined.weights[links.batch] * joined.rows[links.row]
    inside = np.isfinite(explained)
    misfit = _rms(links.value[inside] - explained[inside]) / _rms(links.value[inside])
    return Column(scale * rows, int(zero.sum()), joined.n_sets, misfit, scale_misfit)


def _observe(rounds: Sequence[ScoredRound]) -> tuple[Observations, Observations, set[int]]:
    """All observations, those that link, and the rounds without any link (zero weight: they say 0 = 0)."""
    batch = np.concatenate([np.full(len(r.rows), t) for t, r in enumerate(rounds)])
    row = np.concatenate([r.rows for r in rounds])
    value = np.concatenate([r.scores for r in rounds])
    error = np.concatenate([np.full(len(r.rows), r.error) for r in rounds])
    known = np.isfinite(value)
    seen = Observations(batch[known], row[known], value[known], error[known])
    strong = np.abs(seen.value) > LINK_STRENGTH * seen.error
    links = Observations(seen.batch[strong], seen.row[strong], seen.value[strong], seen.error[strong])
    return seen, links, set(range(len(rounds))) - set(links.batch.tolist())


def _zero_rows(seen: Observations, links: Observations, silent: set[int], joined: RankOne, n_rows: int) -> np.ndarray:
    """Rows that never link although they were in a round whose weight is not zero."""
    links_somewhere = np.zeros(n_rows, dtype=bool)
    links_somewhere[links.row] = True
    loud = ~np.isin(seen.batch, list(silent)) & np.isfinite(joined.weights[seen.batch])
    seen_loud = np.zeros(n_rows, dtype=bool)
    seen_loud[seen.row[loud]] = True
    return seen_loud & ~links_somewhere


def _scale(rounds: Sequence[ScoredRound], rows: FloatArray, weights: FloatArray) -> tuple[float | None, float]:
    """Eq. 13 over all rounds: with x = a x', w = w' / a, the update reads w'_{t+1} - w'_t = -a^2 step sum_j r_j x'_j.

    Least squares over the sums since the start of each unbroken run of rounds; where weights shrink, both sides are
    divided by what the shrinking leaves.
    """
    drifts, courses = [], []
    left = remaining(rounds)
    for run in _unbroken_runs(rounds, rows, weights):
        increments = [
            -rounds[t].step * float(rounds[t].residuals @ rows[rounds[t].rows]) / left[t + 1] for t in run[:-1]
        ]
        drift = np.concatenate([[0.0], np.cumsum(increments)])
        course = weights[run] / left[run]
        drifts.append(drift - drift.mean())
        courses.append(course - course.mean())
    if not drifts:
        return None, float("nan")
    drift_all, course_all = np.concatenate(drifts), np.concatenate(courses)
    if not drift_all.any():
        return None, float("nan")
    square = float(drift_all @ course_all) / float(drift_all @ drift_all)
    misfit = _rms(course_all - square * drift_all) / max(_rms(course_all), 1e-300)
    return (float(np.sqrt(square)), misfit) if square > 0 else (None, misfit)


def _unbroken_runs(rounds: Sequence[ScoredRound], rows: FloatArray, weights: FloatArray) -> list[list[int]]:
    """Runs of rounds t, t+1, ... whose weights are known, each step between them with all its rows known."""
    runs: list[list[int]] = [[]]
    for t, one in enumerate(rounds):
        if not np.isfinite(weights[t]):
            runs.append([])
            continue
        runs[-1].append(t)
        if not (np.isfinite(rows[one.rows]).all() and np.isfinite(one.residuals).all()):
            runs.append([])
    return [run for run in runs if len(run) > 1]


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


@dataclass(frozen=True, eq=False)
class ScoredRound:
    """Row positions, the outside party's score of each (NaN where unknown), the residuals that it trains with.

    The step subtracts ``step`` times the sum of residual times row, after the weights shrank by ``shrink``.
    """

    rows: IntArray
    scores: FloatArray
    residuals: FloatArray
    step: float
    error: float  # of a score
    shrink: float = 1.0


def scored_rounds(facts: Facts, found: OutsideScores) -> list[ScoredRound]:
    # Noise on the shared scores is far above rounding; the joining has to know how far scores can be trusted.
    noise = (facts.outside_noise or 0.0) / 50
    return [
        ScoredRound(
            one.rows,
            one.scores,
            one.trained_with,
            rate_of(facts, one.round) / len(one.rows),
            max(one.error, noise),
            shrink_of(facts, one.round),
        )
        for one in found.rounds
    ]


def remaining(rounds: Sequence[ScoredRound]) -> FloatArray:
    """P_t: what the shrinking of all earlier rounds leaves of the first weights; one entry more than rounds."""
    return np.concatenate([[1.0], np.cumprod([one.shrink for one in rounds])])
