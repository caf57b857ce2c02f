"""The one column outside the coalition, up to sign (Hu et al. 2022, theorem 3.5; by a passive party: remark 4.9)."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.training.capabilities import OWN_TRAINING
from fedleak.attacks.training.outside_score import OutsideScores, outside_scores
from fedleak.attacks.training.scored_round import scored_rounds
from fedleak.attacks.training.single_column import Column, recover_column
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.theory.condition import Assessment, State
from fedleak.theory.hu2022.cubic_feature import CubicFeature
from fedleak.theory.hu2022.piecewise_feature import PiecewiseFeature
from fedleak.theory.hu2022.single_feature import SingleFeature
from fedleak.theory.hu2022.unique_residuals import batch_within_columns
from fedleak.theory.hu2022.victim import n_outside_features

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
        if n_outside_features(view.facts) != 1:
            return _nothing(view, width, Status.NOT_IDENTIFIABLE, _hardness(view.facts))
        found = outside_scores(view)
        if found.known_share == 0.0:
            why = "no batch has as many independent equations as rows, so no score is determined"
            return _nothing(view, width, Status.NOT_IDENTIFIABLE, why)
        column = recover_column(scored_rounds(view.facts, found), len(found.row_ids))
        if column is None:
            return _nothing(view, width, Status.UNDETERMINED, "the scores do not move as those of one column would")
        return _guess(view, found, column)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(assess_single_column(facts), if_fails=if_fails(facts))


def assess_single_column(facts: Facts) -> Assessment:
    by_approximation = {Approximation.CUBIC: CubicFeature, Approximation.PIECEWISE: PiecewiseFeature}
    theorem = next((found for name, found in by_approximation.items() if name == facts.approximation), None)
    return (theorem or SingleFeature).assess(facts)


def if_fails(facts: Facts) -> Verdict:
    """Too few equations or too many columns end it; with noise or too few epochs the theorem is silent."""
    n_outside = n_outside_features(facts)
    too_few = batch_within_columns(facts).state is State.FAILS
    return Verdict.IMPOSSIBLE if too_few or n_outside != 1 else Verdict.UNKNOWN


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


def _nothing(view: View, width: int, status: Status, why: str) -> Guess:
    return Guess(view.target, status, np.zeros(0, dtype=np.int64), np.empty((0, width)), why=why)


def _hardness(facts: Facts) -> str:
    return (
        f"{n_outside_features(facts)} columns lie outside the coalition: scores determine two or more only up to a "
        "rotation (theorem 3.6); see score-recovery and gram-recovery for what they still give away"
    )
