"""The score of another party, a value a row and round: what stays exposed where its columns are not.

For two or more columns theorem 3.6 of Hu et al. 2022 hides the values; the inner product of each row with the
weights is what the proof grants the adversary.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.training.capabilities import OWN_TRAINING
from fedleak.attacks.training.outside_score import OutsideScores, outside_scores
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.condition import Assessment, State
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals, batch_within_columns
from fedleak.theory.hu2022.victim import labels_known, outside_with_columns


class PartialScoreRecovery(Attack):
    name = "partial-score-recovery"
    summary = "takes the own score and the label off each residual; what remains is the partner's score"
    reference = Reference("hu2022", "eq. 10 and theorem 3.6")
    requires = OWN_TRAINING
    produces = SecretKind.PARTIAL_SCORES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        others = outside_with_columns(view.facts)
        found = outside_scores(view)
        ids, values, intervals = _cells(found)
        known = np.isfinite(values)
        evidence = {"determined share": float(known.mean()), "parties in the sum": len(others)}
        if len(others) > 1:
            why = f"only the sum of the scores of {len(others)} parties is determined"
            return Guess(
                view.target, Status.NOT_IDENTIFIABLE, ids, np.full_like(values, np.nan), evidence=evidence, why=why
            )
        if not known.any():
            why = "no batch has as many independent equations as rows, so no score is determined"
            return Guess(view.target, Status.NOT_IDENTIFIABLE, ids, values, intervals, evidence=evidence, why=why)
        status = Status.RECOVERED if known.all() and not view.facts.score_noise else Status.PARTIAL
        return Guess(
            view.target, status, ids, values, intervals, evidence=evidence, why="residual minus own score and label"
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        several = len(outside_with_columns(facts)) > 1
        base = UniqueResiduals.assess(facts)
        assessment = Assessment(
            base.theorem,
            (*base.conditions, labels_known(facts)),
            "every score of the partner is determined",
            base.remedy,
        )
        too_few = batch_within_columns(facts).state is State.FAILS
        if several:
            return Prediction(Verdict.IMPOSSIBLE, ("only the sum over two or more parties is determined",))
        return from_assessment(assessment, if_fails=Verdict.IMPOSSIBLE if too_few else Verdict.UNKNOWN)


def _cells(found: OutsideScores) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids = np.concatenate(
        [np.column_stack([np.full(len(r.rows), r.round), found.row_ids[r.rows]]) for r in found.rounds]
    )
    values = np.concatenate([one.scores for one in found.rounds])[:, None]
    low = np.concatenate([one.low for one in found.rounds])
    high = np.concatenate([one.high for one in found.rounds])
    return ids, values, np.stack([low, high], axis=1)[:, None, :]
