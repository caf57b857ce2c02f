"""Labels from gradients of batches with more rows than own columns: the residuals of smallest norm, made probabilities.

At zero weights a residual is -y / 2, and the least-squares solution of smallest norm is a regression of the labels on
one's own columns. So part of what it gets right is what anybody gets who has labels and columns; how much chance alone
gives stands beside it (``theory.bounded_labels``). The signs are right far more often where columns tell labels.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.batch_residuals import approximation_of
from fedleak.attacks.residuals.label_equations import SLOPES, LabelEquations, label_equations, noise_gain, smooth_part
from fedleak.attacks.residuals.label_posterior import LabelSums, Posterior, label_posterior
from fedleak.attacks.residuals.own_side import OWN_TRAINING, OwnScore
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.theory.bounded_labels import chance_accuracy
from fedleak.theory.condition import State, n_outside_features, no_noise, revealed


@dataclass(frozen=True)
class MinimumNormLabels(Attack):
    name = "minimum-norm-labels"
    summary = "signs of the smallest residuals that explain the own gradients, whatever the batch size"
    reference = Reference("fedleak", "from hu2022, criterion 4.2, beyond corollary 3.2")
    requires = OWN_TRAINING
    produces = SecretKind.LABELS

    rounds: tuple[int, int] | None = None  # those from the first number up to the second; all if None

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        own = OwnScore(view)
        first, end = self.rounds or (0, sys.maxsize)
        equations = [one for one in label_equations(view, own) if first <= one.round < end]
        posterior = label_posterior(label_sums(equations, view.facts, approximation_of(view)), len(own.row_ids))
        return _guess(view, own, equations, posterior)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        has = revealed(Capability.OWN_GRADIENT, facts)
        if has.state is State.FAILS:
            return Prediction(Verdict.IMPOSSIBLE, (f"{has.statement}: fails ({has.detail})",))
        quiet = no_noise(facts)
        if quiet.state is State.FAILS:  # the law below is of sums without noise
            return Prediction(Verdict.UNKNOWN, (f"{quiet.statement}: fails ({quiet.detail})",))
        width, size = facts.n_adversary_features, facts.batch_size
        if width is None or size is None:
            return Prediction(Verdict.UNKNOWN, ("the own columns or the batch size is not known",))
        law = chance_accuracy(width, size)
        sizes = f"d = {width}, s = {size}"
        beyond = "more where the own columns tell the label"
        return Prediction(
            Verdict.PARTIAL,
            (f"chance alone gives {law:.3f} = Phi(sqrt(d / (s - d))), {sizes}; {beyond}",),
        )


def label_sums(equations: Sequence[LabelEquations], facts: Facts, approximation: Approximation) -> list[LabelSums]:
    """s G less the known part of the scores is a sum of labels. What outside scores add is taken for noise of the size
    that the coalition's own scores have, column for column; a row's are alike in all its rounds, so that they count
    as one draw. Declared noise is fresh in each."""
    slope = SLOPES[approximation]
    visits = Counter(row for one in equations for row in one.rows.tolist())
    ratio, noise = _outside_ratio(facts), facts.outside_noise or 0.0
    found = []
    for one in equations:
        outside = ratio * float(np.mean(one.own**2))
        repeats = np.array([visits[row] for row in one.rows.tolist()])
        blur = 4 * (slope**2 * outside * repeats + (noise * noise_gain(one.own, approximation)) ** 2)
        sums = -2 * (one.target - one.basis.T @ smooth_part(one.own, approximation))
        found.append(LabelSums(one.rows, one.basis, sums, blur, 2 * one.slack))
    return found


def _outside_ratio(facts: Facts) -> float:
    outside, own = n_outside_features(facts), facts.n_adversary_features
    return 1.0 if outside is None or not own else outside / own


def _guess(view: View, own: OwnScore, equations: Sequence[LabelEquations], posterior: Posterior) -> Guess:
    seen = np.isfinite(posterior.theta)
    certainty = posterior.certainty[seen]
    why = "the likelier label of every row, both as likely before the gradients were seen; no row is proved"
    if not seen.any():
        why = "no round has both a batch and a gradient"
    return Guess(
        view.target,
        Status.PARTIAL if seen.any() else Status.NOT_IDENTIFIABLE,
        own.row_ids[seen],
        (posterior.theta[seen] > 0).astype(float)[:, None],
        confidence=certainty[:, None],
        evidence={**_evidence(equations), "mean confidence": float(certainty.mean()) if seen.any() else None},
        why=why,
    )


def _evidence(equations: Sequence[LabelEquations]) -> dict[str, ScalarValue]:
    if not equations:
        return {"rounds": 0}
    largest = max(equations, key=lambda one: len(one.rows))
    size, rank = largest.basis.shape
    return {
        "rounds": len(equations),
        "rows of a batch": size,
        "independent own columns": rank,
        "accuracy by chance for unrelated labels": chance_accuracy(rank, size),
    }
