"""Equality solving by the pseudo-inverse (Luo et al. 2021, section IV-A): the paper's own attack, unclipped.

One frame serves all equality-solving attacks: equations a group, an answer a group, one guess. How far the right side
of an equation can be from the truth follows from rounding errors, and from what was done to confidences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.models.inversion.cell_intervals import cell_intervals
from fedleak.models.inversion.equations import (
    SMALLEST_NORMAL,
    Equations,
    ScoreEquations,
    linear_equations,
    rounding_errors,
)
from fedleak.models.score_models import LinearModel, Link
from fedleak.protocols.prediction.vocabulary import PredictionFacts
from fedleak.theory.prediction_bounds import ExactEquations

ZERO_FLOOR = 1e-9


@dataclass(frozen=True)
class EqualitySolving(Attack):
    """``zero_floor`` stands for a confidence of 0 where confidences were rounded; exact zeros give no equation."""

    name = "equality-solving"
    aliases = ("esa",)
    summary = "solves the linear equations that a logistic regression's confidences are; minimum norm where open"
    reference = Reference("luo2021", "section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    preloads = ("scipy.linalg",)
    produces = SecretKind.FEATURES

    zero_floor: float = ZERO_FLOOR

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        floor = None if case.release.is_exact else self.zero_floor
        solved = _together([_of_least_norm(case.part(rows), floor) for rows in _parts(case)])
        extra = {} if floor is None else {"floor under confidences of 0": floor}
        found = as_guess(view, case, solved, extra, "the solution of least norm is given")
        return replace(found, certificate=_proof(case, solved)) if found.status is Status.RECOVERED else found

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted(facts)


ROWS_AT_ONCE = 1 << 16  # a row's equations, with how far each may be off, take some hundred times its answer


def _parts(case: PredictionCase) -> Iterator[slice]:
    """Of about equal size."""
    n_rows = len(case.ids)
    n_parts = max(1, -(-n_rows // ROWS_AT_ONCE))
    for part in range(n_parts):
        yield slice(n_rows * part // n_parts, n_rows * (part + 1) // n_parts)


def _of_least_norm(case: PredictionCase, floor: float | None) -> Solved:
    """x = Theta^+ a; with orthonormal rows the pseudo-inverse is the transpose."""
    groups = system(case, floor=floor, aware=False)
    return solve(case, groups, lambda group: group.right @ group.matrix, with_intervals=False)


def _together(parts: Sequence[Solved]) -> Solved:
    """Without intervals."""
    return Solved(
        np.concatenate([part.values for part in parts]),
        None,
        max(part.rank for part in parts),
        sum(part.n_determined for part in parts),
        sum(part.n_cells for part in parts),
    )


AGREEING = 1e-9  # confidences that the model gives for the answer, beside those that were released


def _proof(case: PredictionCase, solved: Solved) -> str:
    """More confidences than unknown columns, all of them reproduced: rounding or noise would show. As many equations
    as unknowns are always reproduced, whatever was done to the confidences."""
    model = linear_model(case)
    # An output that follows from others for whatever row (a copy, a class that was never trained) shows no rounding.
    outputs = model.weights - model.weights[0] if model.link is Link.SOFTMAX else model.weights
    n_spare = int(np.linalg.matrix_rank(outputs)) - case.n_unknown
    off = max(_distance(case.part(rows), solved.values[rows]) for rows in _parts(case))
    all_given = float(case.confidences.min(initial=1.0)) > SMALLEST_NORMAL  # a confidence of 0 gives no equation
    if n_spare < 1 or not all_given or off > AGREEING:
        return ""
    return (
        f"each row has one solution, with {n_spare} {'equation' if n_spare == 1 else 'equations'} to spare, and the "
        f"model gives its confidences back to {off:.1g}"
    )


def _distance(case: PredictionCase, found: FloatArray) -> float:
    """Of the confidences that the model gives for what was found from those that were released, at most."""
    given = linear_model(case).confidences(case.inputs(found))
    return float(np.abs(given - case.confidences).max(initial=0.0))


def predicted(facts: Facts) -> Prediction:
    """Exact where the theorem holds; some information wherever confidences of a linear model are revealed."""
    own = facts.of(PredictionFacts)
    if own.model not in (None, "logistic"):
        return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {own.model}, not linear",))
    if own.top_label:  # of eq. 3 nothing is left: a label bounds the scores and fixes none
        return Prediction(Verdict.IMPOSSIBLE, ("the label alone is revealed: no row has an equation",))
    return from_assessment(ExactEquations.assess(facts), if_fails=Verdict.PARTIAL)


DETERMINED = 1e-7  # an unknown of which a smaller share is free is fixed by the equations
SHARP = 1e-3  # as a share of its range: as far off may rounding put a cell that is still called determined


@dataclass(frozen=True, eq=False)
class Solved:
    """Answers for all unknown columns of all rows, with what the equations determine."""

    values: FloatArray
    intervals: FloatArray | None
    rank: int  # the largest over the rows
    n_determined: int  # cells that the equations fix
    n_cells: int


def linear_model(case: PredictionCase) -> LinearModel:
    if not isinstance(case.model, LinearModel):
        raise MissingFromViewError(f"equality solving needs a linear model; the view has {type(case.model).__name__}")
    return case.model


def system(
    case: PredictionCase, *, floor: float | None, aware: bool, at_bound: BoolArray | None = None
) -> list[Equations]:
    """The equations of a case. ``aware`` uses what is publicly known of rounding and noise; confidences ``at_bound``
    are taken as large as one that is not seen can be."""
    release, model = case.release, linear_model(case)
    confidences = release.centred(case.confidences) if aware else case.confidences
    if at_bound is not None:
        confidences = np.where(at_bound, np.minimum(confidences + release.reach, 1.0), confidences)
    return list(
        linear_equations(
            model,
            confidences,
            case.own,
            case.own_positions,
            case.unknown_positions,
            floor=floor,
            deviation=release.deviation if aware else 0.0,
            largest=case.largest,
            log_slack=log_slack(case) if aware and not release.is_exact else None,
            at_bound=at_bound,
        )
    )


def solve(
    case: PredictionCase,
    groups: list[Equations],
    answer: Callable[[Equations], FloatArray],
    *,
    with_intervals: bool,
) -> Solved:
    values = np.empty((len(case.ids), case.n_unknown))
    intervals = np.empty((*values.shape, 2)) if with_intervals else None
    n_determined = 0
    for group in groups:
        values[group.rows] = answer(group)
        if intervals is not None:
            intervals[group.rows] = cell_intervals(group)
        if case.release.is_exact:
            n_determined += _n_determined(group, sharp=SHARP if case.has_box else np.inf)
    return Solved(values, intervals, max((group.rank for group in groups), default=0), n_determined, values.size)


def _n_determined(group: Equations, sharp: float) -> int:
    """Cells. An equation of next to no weight determines an unknown on paper, but not to any digit."""
    fixed = np.abs(group.matrix[:, group.free < DETERMINED])
    return int((group.off @ fixed <= sharp).sum())


def as_guess(view: View, case: PredictionCase, solved: Solved, extra: Mapping[str, ScalarValue], how: str) -> Guess:
    share = solved.n_determined / max(solved.n_cells, 1)
    evidence: dict[str, ScalarValue] = {
        "rows": len(case.ids),
        "unknown columns": case.n_unknown,
        "equations a row": solved.rank,
        "share of cells that the equations determine": share,
        "largest distance of a row's confidences from sum 1": _sum_error(case),
        **extra,
    }
    if solved.rank == 0:
        why = "no row gives an equation: the confidences hold no more than a label"
        return case.guess(view, Status.NOT_IDENTIFIABLE, solved.values, why=why, evidence=evidence)
    if share == 1.0:
        why = f"{solved.rank} independent equations a row for {case.n_unknown} unknown columns: one solution"
        status = Status.RECOVERED
    else:
        why = f"{solved.rank} equations a row for {case.n_unknown} unknown columns, not all exact: {how}"
        status = Status.PARTIAL
    return case.guess(view, status, solved.values, why=why, evidence=evidence, intervals=solved.intervals)


def _sum_error(case: PredictionCase) -> float:
    return float(np.abs(case.confidences.sum(axis=1) - 1.0).max(initial=0.0))


def tolerances(case: PredictionCase, equations: ScoreEquations) -> FloatArray:
    """(rows, equations); infinite where a confidence says no more than that it is small."""
    rounding: FloatArray = rounding_errors(equations, case.confidences).copy()
    if case.release.is_exact:
        return rounding
    slack = log_slack(case)[equations.rows]
    for index, row in enumerate(equations.difference):
        # The classes of an equation alone: infinity times zero is not a number.
        rounding[:, index] += slack[:, np.flatnonzero(row)].sum(axis=1)
    return rounding


def log_slack(case: PredictionCase) -> FloatArray:
    """(rows, classes): by how much ln v, or logit v, may be off for all that the released confidence may have been."""
    assert isinstance(case.model, LinearModel)
    half, middle = case.release.reach, case.release.centred(case.confidences)
    room = middle - half
    if case.model.link is Link.SIGMOID_EACH:
        room = np.minimum(room, 1.0 - middle - half)
        room = np.where(room > 0, room * (1.0 - room), room)
    return np.where(room > 0, half / np.where(room > 0, room, 1.0), np.inf)
