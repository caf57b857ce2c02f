"""Hidden columns of few values, from any model: every combination is tried, those that the model answers alike fit.

No equation and no derivative is needed, so it works on trees, forests, networks and black boxes; a hidden yes-or-no
column, or a code with ten levels, does not withstand it.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.equality.column_prior import prior_of_columns
from fedleak.attacks.equality.exhaustive import exhaustive_solutions
from fedleak.attacks.equality.grid_answer import GridAnswer
from fedleak.attacks.equality.known_grid import known_grid
from fedleak.attacks.expectation import model_not_revealed
from fedleak.attacks.predictions import read_case
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess
from fedleak.core.secret import SecretKind
from fedleak.core.view import View


class GridMatch(Attack):
    name = "grid-match"
    summary = "tries every combination of values of hidden columns that have few, and keeps those that fit"
    reference = Reference("fedleak", "beside luo2021, sections IV and V")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        case.require_box()
        grid = known_grid(case, view.knowledge)
        if not grid.stepped.all():
            raise MissingFromViewError(
                f"{int((~grid.stepped).sum())} of {case.n_unknown} hidden columns have no known step; "
                "declare kinds as knowledge"
            )
        prior = prior_of_columns(case.own, case.n_unknown)
        cells = len(case.ids), case.n_unknown
        unit = np.broadcast_to([0.0, 1.0], (*cells, 2))
        answer = GridAnswer(case, grid, np.broadcast_to(prior.mean, cells), unit)
        answer.take(exhaustive_solutions(case, grid))
        status, why = answer.conclusion
        values, intervals = answer.values, answer.intervals
        return case.guess(view, status, values, why=why, evidence=answer.evidence, intervals=intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        reason = "exact for hidden columns of few values that all change the prediction, which depends on the columns"
        return Prediction(Verdict.UNKNOWN, (reason,))
