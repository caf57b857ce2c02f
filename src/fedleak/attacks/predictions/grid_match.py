"""Hidden columns of few values, from any model: every combination is tried, those that the model answers alike fit.

No equation and no derivative is needed, so it works on trees, forests, networks and black boxes; a hidden yes-or-no
column, or a code with ten levels, does not withstand it.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.equality_bayes import prior_of_columns
from fedleak.attacks.predictions.grid_answer import GridAnswer, known_grid
from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.attacks.verdicts import model_not_revealed
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.inversion.equations import last_digit
from fedleak.models.inversion.grid_solution import GridSolutions
from fedleak.models.inversion.whole_equations import Grid


class GridMatch(Attack):
    name = "grid-match"
    summary = "tries every combination of values of hidden columns that have few, and keeps those that fit"
    reference = Reference("fedleak", "beside luo2021, sections IV and V")
    requires = frozenset({Capability.OWN_FEATURES, Capability.MODEL, Capability.PREDICTIONS})
    preloads = ("scipy.special",)
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
        points = _points(grid, len(case.ids))
        n_tried = min(len(case.ids), MOST_EVALUATIONS // len(points))
        answer.take(exhaustive_solutions(case, grid, points, n_tried))
        status, why = answer.conclusion
        if n_tried < len(case.ids):
            why = f"{why}; the first {n_tried} rows were tried, the others are answered without the model"
        evidence = {**answer.evidence, "rows tried": n_tried}
        return case.guess(view, status, answer.values, why=why, evidence=evidence, intervals=answer.intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        reason = "exact for hidden columns of few values that all change the prediction, which depends on the columns"
        return Prediction(Verdict.UNKNOWN, (reason,))


MOST_EVALUATIONS = 1_000_000  # of the model, in all
LEAST_ROWS = 1_000  # that are tried where there are too many for all: fewer say little of a table
CHUNK_ROWS = 50_000  # put through the model at a time
# By how much the same model's confidences may differ, for sums in another order: in double and in single precision.
SAME_DOUBLE, SAME_SINGLE = 1e-9, 1e-5


def exhaustive_solutions(case: PredictionCase, grid: Grid, points: IntArray, n_rows: int) -> GridSolutions:
    """Of the first rows: ``points`` are all that there are."""
    per_chunk = max(1, CHUNK_ROWS // len(points))
    rows, found = [np.empty(0, dtype=np.int64)], [np.empty((0, len(grid.steps)))]
    for start in range(0, n_rows, per_chunk):
        chosen = np.arange(start, min(start + per_chunk, n_rows))
        inputs = np.empty((len(chosen), len(points), len(case.served.columns)))
        inputs[:, :, case.own_positions] = case.own[chosen, None, :]
        # In the columns' own units: a tree may split at the very values that a column takes.
        inputs[:, :, case.unknown_positions] = case.low + points * case.span / grid.steps
        answers = case.served.confidences(inputs.reshape(-1, inputs.shape[2])).reshape(len(chosen), len(points), -1)
        row, point = np.nonzero(_agree(case, answers, case.confidences[chosen, None, :]))
        rows.append(chosen[row])
        found.append(points[point] / grid.steps)
    return GridSolutions(np.concatenate(rows), np.concatenate(found), listed=True)


def _points(grid: Grid, n_rows: int) -> IntArray:
    """(points, columns), in steps."""
    sizes = grid.steps + 1
    if grid.log2_points > np.log2(MOST_EVALUATIONS / min(max(n_rows, 1), LEAST_ROWS)):
        raise MissingFromViewError(
            f"the hidden columns have 2^{grid.log2_points:.0f} combinations of values: too many to try on {n_rows} rows"
        )
    places = np.unravel_index(np.arange(int(np.prod(sizes))), tuple(int(size) for size in sizes))
    return np.stack(places, axis=1)


def _agree(case: PredictionCase, answers: FloatArray, seen: FloatArray) -> BoolArray:
    release = case.release
    if release.top_label:
        return np.asarray(answers.argmax(axis=2) == seen.argmax(axis=2))
    middle = seen + release.unit / 2 if release.rounded_down else seen
    same = SAME_DOUBLE if last_digit(case.confidences) < SAME_DOUBLE else SAME_SINGLE
    return np.asarray((np.abs(answers - middle) <= release.reach + same).all(axis=2))
