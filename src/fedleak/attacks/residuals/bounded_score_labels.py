"""Labels from gradients of batches with more rows than own columns: labels are -1 or +1, and scores are small.

Each gradient is an integer program over its batch (``label_program``), with bounds on the scores from lemma 4.4 of Hu
et al. 2022, row by row (``outside_bounds``). Labels that one batch proves are known in all later ones. What cannot be
proved is named by the labeling that the search found, or by the likelier label (``label_posterior``), with less
confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.batch_label_search import Budget, ContradictionError, LabelState, solve_batch
from fedleak.attacks.residuals.batch_residuals import approximation_of
from fedleak.attacks.residuals.label_equations import (
    SLOPES,
    LabelEquations,
    label_equations,
    noise_gain,
    share_rounding,
    smooth_range,
)
from fedleak.attacks.residuals.label_posterior import Posterior, label_posterior
from fedleak.attacks.residuals.label_program import LabelProgram
from fedleak.attacks.residuals.minimum_norm_labels import label_sums
from fedleak.attacks.residuals.outside_bounds import FAILURE, OutsideBounds, contradicts_bound, noise_reach, tail
from fedleak.attacks.residuals.own_side import OWN_TRAINING, OwnScore
from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.theory.bounded_labels import BoundedLabels
from fedleak.theory.condition import State

UNPROVED = 0.999  # the most that a label without proof is trusted


@dataclass(frozen=True)
class BoundedScoreLabels(Attack):
    name = "bounded-score-labels"
    summary = "the labeling of every batch that bounded scores allow, proved row by row"
    reference = Reference("fedleak", "from hu2022, lemma 4.4 and theorem 4.1")
    requires = OWN_TRAINING
    produces = SecretKind.LABELS
    preloads = ("scipy.optimize",)

    work: float = 1e7  # cells of linear programs, over all batches

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        own = OwnScore(view)
        bounds = OutsideBounds(view, own)
        if not bounds.known:
            why = "the first weights' scale must be public to bound the scores; it is not among the facts"
            return nothing(view, why, {}, width=1, status=Status.UNDETERMINED)
        if contradicts_bound(view.facts, own):
            why = "own rows are longer than whole rows may be by the public bound: it is wrong, and bounds no score"
            return nothing(view, why, {}, width=1, status=Status.UNDETERMINED)
        equations = list(label_equations(view, own))
        posterior = label_posterior(label_sums(equations, view.facts, approximation_of(view)), len(own.row_ids))
        state, budget = LabelState(posterior.theta), Budget(self.work)
        for index, one in enumerate(equations):
            budget.open_batch(len(equations) - index)
            trusted = bounds.norm.declared or bounds.exact_so_far
            program = program_of(view.facts, bounds, one, approximation_of(view))
            try:
                solve_batch(state, one.rows, program, budget, trusted=trusted)
            except ContradictionError as error:
                why = f"contradiction in round {one.round}: {error}"
                return nothing(view, why, {}, width=1, status=Status.UNDETERMINED)
            bounds.after(one)
            self.interim(_guess(view, own, state, posterior, budget))
        return _guess(view, own, state, posterior, budget)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = BoundedLabels.assess(facts)
        hidden = any(
            c.state is State.FAILS and c.statement.startswith("the adversary has") for c in assessment.conditions
        )
        return from_assessment(assessment, if_fails=Verdict.IMPOSSIBLE if hidden else Verdict.UNKNOWN)


def program_of(facts: Facts, bounds: OutsideBounds, one: LabelEquations, approximation: Approximation) -> LabelProgram:
    """Noise moves the equations where residuals are linear in the scores; otherwise it widens each row's bounds."""
    reach, slack = bounds.before(one), one.slack
    low, high = smooth_range(one.own - reach, one.own + reach, approximation)
    moved = np.full(len(low), share_rounding(facts))
    if approximation is Approximation.TAYLOR:
        # In an orthonormal basis independent noise of the rows is independent noise of the equations.
        draws = len(one.slack) * (facts.n_rounds or 1)
        slack = slack + SLOPES[approximation] * (facts.outside_noise or 0.0) * tail(draws)
    else:
        moved += noise_reach(facts, len(bounds.bounds)) * noise_gain(np.abs(one.own) + reach, approximation)
    return LabelProgram.of(one.basis, one.target, slack, low - moved, high + moved)


def _guess(view: View, own: OwnScore, state: LabelState, posterior: Posterior, budget: Budget) -> Guess:
    seen = np.isfinite(posterior.theta)
    certain = state.proved[seen] != 0
    signs = state.best()[seen]
    done = bool(certain.all()) and bool(seen.any())
    status = Status.RECOVERED if done else Status.PARTIAL
    if not state.informative:
        status = Status.UNDETERMINED
    return Guess(
        view.target,
        status,
        own.row_ids[seen],
        ((signs + 1) / 2)[:, None],
        confidence=np.where(certain, 1.0, _unproved(posterior, state)[seen])[:, None],
        evidence={
            "rows proved by linear programming": state.by_linear,
            "rows proved by search": state.by_search,
            "rows not proved": int(np.sum(~certain)),
            "rows with several labelings": int(np.sum(state.ambiguous[seen] & ~certain)),
            "rounds on an assumed row norm": state.untrusted,
            "rounds without a usable bound": state.unbounded,
            "linear programs": budget.programs,
            "searches": budget.searches,
        },
        why=_why(state, done=done),
        certificate=_certificate(view.facts, state) if done else "",
    )


def _unproved(posterior: Posterior, state: LabelState) -> FloatArray:
    agrees = np.sign(posterior.theta) == state.best()
    return np.where(agrees, np.minimum(posterior.certainty, UNPROVED), 0.5)


def _why(state: LabelState, *, done: bool) -> str:
    if done:
        return "bounded scores leave one labeling of the batches"
    if not state.informative:
        return "scores may be so large in every round that each residual fits both labels"
    if state.untrusted:
        return (
            "later rounds need a bound on the norm of whole rows, which is not public: there it is assumed to be as "
            "that of the own columns, and nothing is proved"
        )
    return "rows that are not proved carry the labeling that the search found, or the likelier label"


def _certificate(facts: Facts, state: LabelState) -> str:
    by_search = f" and an exhausted search for {state.by_search}" if state.by_search else ""
    by_chance = facts.initialisation != "zero" or bool(facts.outside_noise)
    chance = f", with probability {1 - FAILURE:.6f} over first weights and noise" if by_chance else ""
    return (
        f"all labelings that fit the own gradients with scores within their bounds agree: weights of the equations "
        f"prove it for {state.by_linear} rows{by_search}{chance}"
    )
