"""Labels of a party that holds no columns (Hu et al. 2022, theorem 4.1): signs that make up a known sum of own rows."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.training.capabilities import OWN_TRAINING
from fedleak.attacks.training.own_gradient import batch_systems
from fedleak.attacks.training.own_score import OwnScore
from fedleak.attacks.training.residual_source import approximation_of
from fedleak.attacks.training.sign_system import MAX_FREE_ROWS, MAX_STACKED_ROWS, SignEquation, Signs, solve_signs
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.sigmoid import residual
from fedleak.theory.condition import State
from fedleak.theory.hu2022.labels_without_features import LabelsWithoutFeatures
from fedleak.theory.hu2022.victim import n_outside_features


class SignSystemLabels(Attack):
    name = "sign-system-labels"
    summary = "solves the own gradients for the labels, where no other party adds to the scores"
    reference = Reference("hu2022", "theorem 4.1")
    requires = OWN_TRAINING
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        if n_outside_features(view.facts) != 0:
            why = "parties outside the coalition hold columns, so their part of the scores is unknown"
            nothing = np.zeros(0, dtype=np.int64)
            return Guess(view.target, Status.NOT_IDENTIFIABLE, nothing, np.empty((0, 1)), why=why)
        own = OwnScore(view)
        signs = solve_signs(_equations(view, own), len(own.row_ids), rng)
        return _guess(view, own, signs)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = LabelsWithoutFeatures.assess(facts)
        if n_outside_features(facts) not in (None, 0):
            return Prediction(Verdict.IMPOSSIBLE, (assessment.theorem, *assessment.reasons))
        if assessment.state is State.HOLDS:
            reason = "determined by theorem 4.1; whether the search ends within its budget shows only in the run"
            return Prediction(Verdict.UNKNOWN if _too_long(facts) else Verdict.EXACT, (reason, *assessment.reasons))
        return from_assessment(assessment, if_fails=Verdict.UNKNOWN)


def _too_long(facts: Facts) -> bool:
    """Neither a batch that can be searched nor epochs enough to stack, as far as the sizes tell."""
    width, size, epochs = facts.n_adversary_features, facts.batch_size, facts.n_epochs
    if width is None or size is None or epochs is None or facts.n_rows is None:
        return True
    n_batches = -(-facts.n_rows // size)
    stacked = width * (1 + epochs * (n_batches - 1)) >= facts.n_rows
    return size > MAX_FREE_ROWS and not (stacked and facts.n_rows <= MAX_STACKED_ROWS)


def _equations(view: View, own: OwnScore) -> list[SignEquation]:
    """s G = sum_i (h(z_i) - y_i / 2) x_i with known scores z: what is left is sum_i y_i x_i (eq. 81)."""
    approximation = approximation_of(view)
    equations = []
    for system in batch_systems(view):
        rows = own.positions(system.ids)
        known = residual(own.scores(system.round, rows), np.zeros(len(rows)), approximation)
        total = 2 * (known @ system.rows - len(rows) * system.gradient)
        equations.append(SignEquation(rows, system.rows, total))
    return equations


def _guess(view: View, own: OwnScore, signs: Signs) -> Guess:
    known = np.isfinite(signs.values)
    status, why = Status.RECOVERED, "one choice of signs fits every batch"
    if not known.all():
        status = Status.PARTIAL if known.any() else Status.UNDETERMINED
        why = (
            f"{signs.over_budget} batches have too many open rows to search, {signs.ambiguous} have several solutions "
            "or none; the problem is as hard as subset sum"
        )
    return Guess(
        view.target,
        status,
        own.row_ids[known],
        ((signs.values[known] + 1) / 2)[:, None],
        evidence={
            "rows decided by the stacked linear system": signs.by_algebra,
            "rows decided by search": signs.by_search,
            "batches over the budget": signs.over_budget,
            "batches with several solutions or none": signs.ambiguous,
        },
        why=why,
    )
