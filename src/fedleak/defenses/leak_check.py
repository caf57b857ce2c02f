"""The check before a prediction is released (Luo et al. 2021, section VII, post-processing).

Inside the joint computation, where the whole row is there, the attack is imitated: how narrow would the active party's
bounds on the passive parties' cells be? A prediction that would pin too many cells down is withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, ModelSpec, Scalar, Table
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, LocalState
from fedleak.data.column_encoding import regular_step
from fedleak.defenses.coarse_confidences import at_confidences
from fedleak.models import opaque
from fedleak.models.interpret import interpret
from fedleak.models.inversion.cell_intervals import cell_intervals
from fedleak.models.inversion.equations import linear_equations, rounding_errors, score_equations
from fedleak.models.inversion.grid_solution import solve_on_grid
from fedleak.models.inversion.tree_paths import candidate_paths, tree_paths
from fedleak.models.inversion.whole_equations import Grid, whole_equations
from fedleak.models.model import Model
from fedleak.models.score_models import LinearModel
from fedleak.models.tree_models import TreeModel
from fedleak.protocols.prediction import vocabulary as prediction


@dataclass(frozen=True)
class LeakCheck(Defense):
    name = "leak-check"
    summary = "imitates the attacks on each prediction and withholds those that would pin cells down"
    reference = Reference("luo2021", "section VII, post-processing")
    acts_at = frozenset({prediction.CONFIDENCES})

    width: float = setting(0.1, "a cell counts as pinned down within an interval narrower than this", unit="0 to 1")
    share: float = setting(
        0.2, "a prediction is withheld if more than this share of the cells is", unit="0 to 1", tells_less="fewer"
    )
    grids: bool = setting(True, "imitate equality-grid too, for columns that move in steps (needs the extra lattice)")

    def __post_init__(self) -> None:
        if not 0 < self.width <= 1 or not 0 <= self.share <= 1:
            raise InputError(f"width and share of leak-check must be from 0 to 1; got {self.width} and {self.share}")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(prediction.PredictionFacts, withheld=True)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        own = [name for party in federation.with_role(Role.ACTIVE) for name in party.columns]

        def act(value: Array, local: LocalState, _rng: np.random.Generator) -> Array:
            return self._release(value, own, local)

        return at_confidences(act)

    def _release(self, value: Array, own: list[str], local: LocalState) -> Array:
        spec, inputs = local.latest(prediction.SERVED_MODEL), local.latest(prediction.INPUTS)
        assert isinstance(spec, ModelSpec)
        assert isinstance(inputs, Table)
        if spec.kind == opaque.KIND:  # no attack on a single prediction of it: nothing to imitate
            local.record(prediction.CONFIDENCES, prediction.WITHHELD, Scalar(0))
            return value
        model = interpret(spec)
        mine = model.positions([name for name in own if name in model.columns])
        hidden = np.setdiff1d(np.arange(len(model.columns)), mine)
        widths = imitated_widths(model, inputs.values, value.values, mine, hidden)
        if self.grids and isinstance(model, LinearModel):
            widths = np.minimum(widths, grid_widths(model, inputs.values, value.values, mine, hidden))
        pinned = (widths < self.width).mean(axis=1) > self.share
        local.record(prediction.CONFIDENCES, prediction.WITHHELD, Scalar(int(pinned.sum())))
        return Array(np.where(pinned[:, None], np.nan, value.values))


def imitated_widths(
    model: Model, rows: FloatArray, confidences: FloatArray, own: IntArray, hidden: IntArray
) -> FloatArray:
    """(rows, hidden columns): the width of the interval that the active party could prove for each cell.

    Equality solving for linear models and path restriction for trees, in the unit box. Other models
    have no attack on a single prediction here: nothing is withheld for them.
    """
    if isinstance(model, LinearModel):
        widths = np.ones((len(rows), len(hidden)))
        for group in linear_equations(model, confidences, rows[:, own], own, hidden):
            bounds = cell_intervals(group)
            widths[group.rows] = bounds[:, :, 1] - bounds[:, :, 0]
        return widths
    if isinstance(model, TreeModel):
        paths = tree_paths(model)
        candidates = candidate_paths(paths, rows[:, own], own, confidences)
        low, high = np.clip(paths.low[:, hidden], 0, 1), np.clip(paths.high[:, hidden], 0, 1)
        nothing = np.ones(len(hidden))
        found = [high[left].max(axis=0) - low[left].min(axis=0) if left.any() else nothing for left in candidates]
        return np.array(found)
    return np.ones((len(rows), len(hidden)))


def grid_widths(
    model: LinearModel, rows: FloatArray, confidences: FloatArray, own: IntArray, hidden: IntArray
) -> FloatArray:
    """The same for columns that move in steps: between the lowest and the highest value that fits a row's equations."""
    grid = _grid_of(rows[:, hidden])
    widths = np.ones((len(rows), len(hidden)))
    for equations in score_equations(model, confidences, rows[:, own], own, hidden):
        for whole in whole_equations(equations, rounding_errors(equations, confidences), grid):
            found = solve_on_grid(whole, np.full(int(grid.stepped.sum()), 0.5))
            if not found.listed or not len(found.rows):
                continue
            chosen, starts = np.unique(found.rows, return_index=True)
            spread = np.maximum.reduceat(found.points, starts) - np.minimum.reduceat(found.points, starts)
            widths[np.ix_(chosen, np.flatnonzero(grid.stepped))] = spread
    return widths


def _grid_of(columns: FloatArray) -> Grid:
    """The steps that each column's values show, on the unit interval."""
    found = [regular_step(np.append(column, (0.0, 1.0))) for column in columns.T]
    steps = [0 if step is None else round(1.0 / step.step) for step in found]
    return Grid(np.array(steps, dtype=np.int64), np.array([0.0 if step is None else step.slack for step in found]))
