"""Inner products of a party's rows from its scores: exposed although theorem 3.6 hides the rows themselves."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.training.capabilities import OWN_TRAINING
from fedleak.attacks.training.outside_score import outside_scores
from fedleak.attacks.training.score_factors import Factors, n_unknowns, read_trajectory, recover_factors
from fedleak.attacks.training.scored_round import scored_rounds
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.condition import Assessment, Condition, State, at_most
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals, batch_within_columns
from fedleak.theory.hu2022.victim import labels_known, n_outside_features, outside_with_columns

MAX_UNKNOWNS = 600
N_STARTS = 4  # one in twenty runs into a local minimum
GOOD_FIT = 1e-6
FAIR_FIT = 1e-2


class ScoreGramRecovery(Attack):
    name = "score-gram-recovery"
    summary = "explains the partner's scores over training by rows of known width: their inner products"
    reference = Reference("hu2022", "theorem 3.6")
    requires = OWN_TRAINING
    produces = SecretKind.GRAM

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        width = n_outside_features(view.facts)
        if width is None or len(outside_with_columns(view.facts)) != 1:
            return _nothing(view, Status.NOT_IDENTIFIABLE, "one single party of known width must be outside")
        found = outside_scores(view)
        seen = read_trajectory(scored_rounds(view.facts, found), len(found.row_ids))
        needed = n_unknowns(seen.n_rows, width)
        if len(seen.value) < needed:
            why = f"{len(seen.value)} scores are known, and {needed} are needed"
            return _nothing(view, Status.NOT_IDENTIFIABLE, why)
        if needed > MAX_UNKNOWNS:
            return _nothing(view, Status.UNDETERMINED, f"{needed} unknowns are over the budget of {MAX_UNKNOWNS}")
        # Under noise no start can fit, so that trying again only costs time.
        factors = recover_factors(seen, width, rng, n_starts=1 if view.facts.score_noise else N_STARTS)
        return _guess(view, found.row_ids, factors, len(seen.value), needed)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        base = UniqueResiduals.assess(facts)
        assessment = Assessment(
            base.theorem,
            (*base.conditions, labels_known(facts), _enough_scores(facts), _converges()),
            "inner products of the partner's rows are determined",
            base.remedy,
        )
        too_few = batch_within_columns(facts).state is State.FAILS
        return from_assessment(assessment, if_fails=Verdict.IMPOSSIBLE if too_few else Verdict.UNKNOWN)


def _enough_scores(facts: Facts) -> Condition:
    statement = "scores over training are as many as the partner's cells"
    width = n_outside_features(facts)
    if width is None or facts.n_rows is None or facts.n_epochs is None:
        return Condition(statement, State.UNKNOWN, "the partner's width, the rows or the epochs are not known")
    return at_most(statement, n_unknowns(facts.n_rows, width), facts.n_rows * facts.n_epochs)


def _converges() -> Condition:
    return Condition("the search for the rows converges", State.UNKNOWN, "the misfit tells, after the run")


def _guess(view: View, ids: np.ndarray, found: Factors, n_scores: int, needed: int) -> Guess:
    """A good fit with more scores than unknowns is the view's own sign of success."""
    evidence = {"misfit": found.misfit, "scores": n_scores, "unknowns": needed}
    if found.misfit > FAIR_FIT:
        return _nothing(view, Status.UNDETERMINED, "no rows were found that explain the scores", evidence)
    status = Status.RECOVERED if found.misfit < GOOD_FIT and n_scores > needed else Status.PARTIAL
    why = "rows up to a rotation explain the scores; inner products are free of it"
    return Guess(view.target, status, ids, found.gram, evidence=evidence, why=why)


def _nothing(view: View, status: Status, why: str, evidence: dict[str, float | int] | None = None) -> Guess:
    n_rows = view.facts.n_rows or 1
    return Guess(
        view.target, status, np.zeros(0, dtype=np.int64), np.empty((0, n_rows)), evidence=evidence or {}, why=why
    )
