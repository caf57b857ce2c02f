"""One frame for the equality-solving attacks: equations a group, an answer a group, one guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.equality.precision import log_slack
from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import FloatArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.guess import Guess, Status
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View
from fedleak.models.inversion.cell_intervals import cell_intervals
from fedleak.models.inversion.equations import Equations, linear_equations
from fedleak.models.linear import LinearModel

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


def system(case: PredictionCase, *, floor: float | None, aware: bool) -> list[Equations]:
    """The equations of a case. ``aware`` uses what is publicly known of rounding and noise."""
    release, model = case.release, linear_model(case)
    confidences = release.centred(case.confidences) if aware else case.confidences
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
