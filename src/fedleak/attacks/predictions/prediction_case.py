"""What a view of the prediction protocol holds, read once for all attacks on it.

The unknown columns are put on the unit interval, by their known ranges, and the model is rewritten to take them so:
every attack then works in the unit box. Columns go by name, so the model may have them in any order. Of an opaque model
there are a description and an oracle to ask for confidences, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray, positions_of
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import InputError, MissingFromViewError, NotReplayableError, OracleError
from fedleak.core.payload import Array, ModelSpec, Scalar, ScalarValue, Table
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.models import opaque
from fedleak.models.interpret import interpret
from fedleak.models.inversion.counted_columns import ColumnHistogram, counted_columns, pooled_histogram
from fedleak.models.model import Model, columns_of
from fedleak.models.opaque import NOT_STORED, SERVICE, OpaqueModel
from fedleak.models.tree_models import ForestModel, TreeModel
from fedleak.protocols.prediction import vocabulary as prediction

NOISE_DEVIATIONS = 6.0  # noise farther out is not reckoned with


@dataclass(frozen=True)
class Release:
    """What is publicly known to have been done to the confidences."""

    digits: int | None = None  # they are rounded to so many decimal digits
    rounded_down: bool = False
    noise: float = 0.0  # standard deviation
    top_label: bool = False  # a one for the predicted class stands for all of them

    @property
    def unit(self) -> float:
        """Of the last digit; 0 without rounding."""
        return 0.0 if self.digits is None else 10.0**-self.digits

    @property
    def deviation(self) -> float:
        """Standard deviation of a confidence's error: of noise, or of a uniform value as wide as the last digit."""
        return float(np.hypot(self.noise, self.unit / 12**0.5))

    @property
    def is_exact(self) -> bool:
        return self.deviation == 0

    @property
    def reach(self) -> float:
        """How far a released confidence can be from the true one, or from its middle where it was rounded."""
        return NOISE_DEVIATIONS * self.noise + self.unit / 2

    def centred(self, confidences: FloatArray) -> FloatArray:
        """The middle of what a released confidence may have been; exact ones are left as they are."""
        if self.is_exact:
            return confidences
        middle = confidences + self.unit / 2 if self.rounded_down else confidences
        floor = self.deviation / 2 if not self.rounded_down else 0.0
        return np.clip(middle, floor, 1.0)


@dataclass(frozen=True, eq=False)
class PredictionCase:
    served: Model  # as it was sent
    model: Model  # takes the unknown columns on the unit interval
    ids: IntArray
    confidences: FloatArray  # as released
    own: FloatArray  # (rows, own columns)
    own_positions: IntArray  # among the model's inputs
    unknown_positions: IntArray
    low: FloatArray  # of the unknown columns
    span: FloatArray
    has_box: bool
    target: IntArray  # the victim's columns among the unknown ones, in the victim's order
    release: Release
    n_withheld: int = 0  # predictions that were asked for and not given

    @property
    def n_unknown(self) -> int:
        return len(self.unknown_positions)

    @property
    def unknown_columns(self) -> tuple[str, ...]:
        return tuple(self.model.columns[position] for position in self.unknown_positions)

    @property
    def largest(self) -> FloatArray:
        """How large an unknown can be, in units of its range: its lowest value is part of the sums as well."""
        return np.asarray(1.0 + np.abs(self.low) / self.span)

    def part(self, chosen: IntArray | slice) -> PredictionCase:
        """The same of some rows."""
        return replace(self, ids=self.ids[chosen], confidences=self.confidences[chosen], own=self.own[chosen])

    def require_box(self) -> None:
        if not self.has_box:
            raise MissingFromViewError("it needs the victim's feature ranges; declare them as knowledge")

    def inputs(self, unknown: FloatArray, of: IntArray | None = None) -> FloatArray:
        """Whole rows for the model, from own columns and values of the unknown ones; of all rows or of some."""
        rows = np.empty((len(unknown), len(self.model.columns)))
        rows[:, self.own_positions] = self.own if of is None else self.own[of]
        rows[:, self.unknown_positions] = unknown
        return rows

    def guess(
        self,
        view: View,
        status: Status,
        unknown: FloatArray,
        *,
        why: str,
        evidence: Mapping[str, ScalarValue],
        intervals: FloatArray | None = None,
    ) -> Guess:
        """The victim's part of an answer about all unknown columns, in the columns' own units. Recovered is said of
        all rows that were asked for, or not at all."""
        if status is Status.RECOVERED and self.n_withheld:
            status, why = Status.PARTIAL, f"{why}, of those released: {self.n_withheld} predictions were withheld"
        low, span = self.low[self.target], self.span[self.target]
        bounds = None
        if intervals is not None:
            bounds = low[:, None] + span[:, None] * intervals[:, self.target]
        return Guess(
            view.target,
            status,
            self.ids,
            low + span * unknown[:, self.target],
            intervals=bounds,
            evidence=evidence,
            why=why,
        )


def own_histogram(case: PredictionCase) -> ColumnHistogram:
    """How the adversary's own columns spread over their ranges, all together."""
    return pooled_histogram(on_unit_interval(case.own))


def on_unit_interval(own: FloatArray) -> FloatArray:
    """Columns that vary, each put on the unit interval by its own smallest and largest value."""
    spans = np.ptp(own, axis=0) if own.size else np.zeros(own.shape[1])
    varying = own[:, spans > 0]
    low = varying.min(axis=0) if varying.size else 0.0
    return np.asarray((varying - low) / spans[spans > 0])


def counted_unknowns(case: PredictionCase) -> list[ColumnHistogram] | None:
    """How the unknown columns spread by the training rows that a tree or forest counted; None where nothing was.

    A column that the model never asks for is taken to spread like own columns.
    """
    model = case.model
    trees = model.trees if isinstance(model, ForestModel) else (model,) if isinstance(model, TreeModel) else ()
    return counted_columns(trees, case.unknown_positions, own_histogram(case)) if trees else None


def read_case(view: View) -> PredictionCase:
    """The model, own rows, confidences and what is known of the rest; withheld rows are left out."""
    model = _served_model(view)
    tables = [view.table(FEATURES, member) for member in view.coalition]
    ids, confidences, n_withheld = _confidences(view)
    names = [name for table in tables for name in table.columns]
    parts = [_rows_of(table, ids) for table in tables]
    own = np.hstack(parts) if len(parts) > 1 else parts[0]
    own_positions = model.positions(names)
    unknown = np.setdiff1d(np.arange(len(model.columns)), own_positions)
    hidden = [model.columns[i] for i in unknown]
    low, span, has_box = _box(view, hidden)
    shift, scale = np.zeros(len(model.columns)), np.ones(len(model.columns))
    shift[unknown], scale[unknown] = -low / span, 1.0 / span
    return PredictionCase(
        model,
        model.behind_scaler(shift, scale) if has_box else model,
        ids,
        confidences,
        own,
        own_positions,
        unknown,
        low,
        span,
        has_box,
        _target(view, hidden),
        release_of(view),
        n_withheld,
    )


def release_of(view: View) -> Release:
    own = view.facts.of(prediction.PredictionFacts)
    return Release(
        own.confidence_digits, own.confidence_rounding == "down", own.confidence_noise or 0.0, own.top_label is True
    )


def _served_model(view: View) -> Model:
    for message in view.at(prediction.MODEL):
        if isinstance(message.payload, ModelSpec):
            spec = message.payload
            return queried_model(view, spec) if spec.kind == opaque.KIND else interpret(spec)
    raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no model")


def _confidences(view: View) -> tuple[IntArray, FloatArray, int]:
    """Of the rows that were answered, and how many were not."""
    requests = [message.payload for message in view.at(prediction.REQUEST) if isinstance(message.payload, Array)]
    answers = [message.payload for message in view.at(prediction.CONFIDENCES) if isinstance(message.payload, Array)]
    if not requests or not answers:
        raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no predictions")
    ids = np.concatenate([np.asarray(request.values, dtype=np.int64) for request in requests])
    confidences = np.concatenate([np.asarray(answer.values, dtype=np.float64) for answer in answers])
    if len(ids) != len(confidences):
        raise InputError(f"predictions must answer the {len(ids)} requested rows; got {len(confidences)}")
    given = np.isfinite(confidences).all(axis=1)
    return ids[given], confidences[given], int(np.sum(~given))


def _rows_of(table: Table, ids: IntArray) -> FloatArray:
    """The table itself, where it lies, if it has these rows."""
    if np.array_equal(table.ids, ids):
        return np.asarray(table.values, dtype=np.float64)
    position = positions_of(table.ids)
    missing = [int(row) for row in ids if int(row) not in position]
    if missing:
        raise MissingFromViewError(f"the adversary's own features lack row {missing[0]}")
    return np.asarray(table.values, dtype=np.float64)[[position[int(row)] for row in ids]]


def _box(view: View, hidden: list[str]) -> tuple[FloatArray, FloatArray, bool]:
    """Low and span of each unknown column: from declared knowledge, or the unit box that everybody knows of."""
    known = {column.column: (column.low, column.high) for column in view.knowledge.columns}
    unit = view.facts.of(prediction.PredictionFacts).unit_box is True
    low, high = np.zeros(len(hidden)), np.ones(len(hidden))
    has_box = True
    for index, name in enumerate(hidden):
        bounds = known.get(name, (None, None))
        if bounds[0] is not None and bounds[1] is not None:
            low[index], high[index] = bounds
        elif not unit:
            has_box = False
    if not has_box:
        return np.zeros(len(hidden)), np.ones(len(hidden)), False
    return low, np.where(high > low, high - low, 1.0), True


def _target(view: View, hidden: list[str]) -> IntArray:
    """The victim's columns, in the order in which it published them."""
    for message in view.at(prediction.COLUMNS):
        if message.sender == view.target.owner and isinstance(message.payload, Scalar):
            names = json.loads(str(message.payload.value))
            missing = [name for name in names if name not in hidden]
            if missing:
                raise InputError(
                    f"column {missing[0]!r} of {view.target.owner} must be an input of the model; it is not"
                )
            return np.array([hidden.index(name) for name in names], dtype=np.int64)
    raise MissingFromViewError(f"{view.target.owner} published no column names")


def queried_model(view: View, spec: ModelSpec) -> OpaqueModel:
    """A model that asks the view's oracle; a view without one was stored without the object."""
    oracle = view.oracles.get(SERVICE)
    if oracle is None:
        raise NotReplayableError(NOT_STORED)
    n_classes = spec.config.get("n_classes")
    if not isinstance(n_classes, int):
        raise InputError(f"an opaque model's n_classes must be a whole number; got {n_classes!r}")

    def answer(rows: FloatArray) -> AnyArray:
        try:
            found = oracle.query(Array(rows)).messages[-1].payload
        except NotReplayableError as error:
            raise NotReplayableError(f"{NOT_STORED} ({error})") from error
        if not isinstance(found, Array):
            raise OracleError(f"oracle {SERVICE} must answer with an array; got {type(found).__name__}")
        return found.values

    return OpaqueModel(columns_of(spec.config), n_classes, answer, str(spec.config.get("about")))
