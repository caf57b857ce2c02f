"""Blind attacks: what anybody would answer from declared knowledge and the adversary's own columns, without a message.

They are the baseline of every score. The truth lends them its shape and nothing else; which of them does best is then
chosen by the truth, column by column, which flatters the baseline and never the attack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Index, Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray, Value, flat_rows, freeze
from fedleak.core.knowledge import Knowledge
from fedleak.core.payload import Table
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.metrics.alignment import OF_OWN_CELLS, places
from fedleak.metrics.blind_fits import fitted_tables
from fedleak.metrics.blind_products import expected_products, known_cells, rows_of_columns

# Whatever the column: nothing, one half, all of it; the mean of a standardised column is the first.
ANYBODYS = (0.0, 0.5, -0.5, 1.0, -1.0)
OF_DECLARED_COLUMNS = OF_OWN_CELLS | {SecretKind.RANGES}
WITH_KNOWN_CELLS = OF_DECLARED_COLUMNS | {SecretKind.LABELS}


@dataclass(frozen=True, eq=False)
class OwnRows(Value):
    """What the adversary has itself: its columns and labels for the secret's rows, and tables in the same columns."""

    beside: FloatArray  # (people of the secret, own columns); NaN where it does not have the row
    labels: FloatArray | None = None  # of the secret's rows, where the adversary holds them
    alike: tuple[Table, ...] = ()  # rows of its own, in columns of the secret's names

    def __post_init__(self) -> None:
        object.__setattr__(self, "beside", freeze(self.beside))


def own_rows(truth: Truth, coalition: tuple[str, ...], secret: Secret, values: SecretValues) -> OwnRows:
    """Of the members' tables, those that share rows with the secret, and those that share its columns."""
    people = people_of(secret, values)
    held = [
        truth.of(one)
        for member in coalition
        for one in (Secret(kind, member) for kind in (SecretKind.FEATURES, SecretKind.IMAGES, SecretKind.LABELS))
        if one in truth.secrets and one != secret
    ]
    # Own pictures say something of labels; of others' pixels, a regression from each of them is no cheap answer.
    tables = [one for one in held if one.is_table or secret.kind is SecretKind.LABELS]
    found = [_in_rows(one, people) for one in tables]
    beside = [cells for cells in found if np.isfinite(cells).any()]
    alike = [one for one in held if _as_wide(one, values)]
    labels = [_in_rows(truth.of(one), people)[:, 0] for one in _labels(truth, coalition) if one != secret]
    return OwnRows(
        np.hstack([np.empty((len(people), 0)), *beside]),
        labels[0] if labels else None,
        tuple(_flat(one) for one in alike),
    )


def _as_wide(held: SecretValues, values: SecretValues) -> bool:
    """The same columns, or pictures of the same size."""
    if not values.is_table:
        return held.cell_shape == values.cell_shape
    return held.columns == values.columns and bool(values.columns)


def _flat(held: SecretValues) -> Table:
    cells = flat_rows(held.values)
    return Table(held.columns or tuple(f"x{place}" for place in range(cells.shape[1])), held.ids, cells)


def people_of(secret: Secret, values: SecretValues) -> IntArray:
    """The row of the parties' tables that each row of a secret is about; nobody's (-1) where it is about none. Inner
    products are about the rows of their columns."""
    if secret.kind is SecretKind.GRAM:
        return rows_of_columns(values)
    match secret.kind.indexed_by:
        case Index.ROW:
            return values.ids
        case Index.ROUND_AND_ROW:
            return values.ids[:, -1]
    return np.full(len(values.ids), -1, dtype=np.int64)


def _labels(truth: Truth, coalition: tuple[str, ...]) -> list[Secret]:
    asked = [Secret(SecretKind.LABELS, member) for member in coalition]
    return [one for one in asked if one in truth.secrets]


def _in_rows(held: SecretValues, people: IntArray) -> FloatArray:
    values = flat_rows(held.values)
    cells = np.full((len(people), values.shape[1]), np.nan)
    found = places(people, held.ids)
    cells[found >= 0] = values[found[found >= 0]]
    return cells


@dataclass(frozen=True, eq=False)
class Blind(Value):
    """One blind answer: cells for all rows, flat. ``by_row`` where rows differ, and not by their order alone."""

    how: str
    cells: FloatArray  # (1 or rows, cells of a row)
    by_row: bool = False


def blind_answers(secret: Secret, values: SecretValues, knowledge: Knowledge, own: OwnRows) -> tuple[Blind, ...]:
    """``values`` lends ids, columns and shape."""
    width = int(np.prod(values.cell_shape))
    found = [Blind(f"always {constant:g}", np.full((1, width), constant)) for constant in ANYBODYS]
    found += [Blind(how, row[None, :]) for how, row in _constants(secret, values, knowledge, own)]
    if own.labels is not None:
        found += [Blind(how, cells, by_row=True) for how, cells in _from_labels(secret.kind, own.labels, own.beside)]
    if secret.kind in WITH_KNOWN_CELLS:
        known = known_table(secret, values, knowledge)
        found += [Blind(how, cells, by_row=True) for how, cells in fitted_tables(known, own.beside)]
    if secret.kind is SecretKind.GRAM:
        products = expected_products(secret, values, knowledge, own.beside)
        found += [Blind(how, cells, by_row=True) for how, cells in products]
    return tuple(found)


def _from_labels(kind: SecretKind, labels: FloatArray, beside: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Whoever has the labels knows what a useful model says of a row: scores are trained to go with them."""
    if kind is SecretKind.RESIDUALS:
        yield "one half less the label", 0.5 - labels[:, None]
    if kind is SecretKind.PARTIAL_SCORES:
        yield "the label less one half", labels[:, None] - 0.5
        others = beside[:, ~(beside == labels[:, None]).all(axis=0)]
        yield from ((f"the label by {how}", cells) for how, cells in fitted_tables(labels[:, None], others))


def known_table(secret: Secret, values: SecretValues, knowledge: Knowledge) -> FloatArray:
    """The victim's rows as they are known beforehand, flat; NaN where they are not."""
    if secret.kind is SecretKind.LABELS:
        return knowledge.labels_of(secret.owner, values.ids)[:, None]
    return known_cells(knowledge, secret.owner, values.ids, int(np.prod(values.cell_shape)))


def _constants(
    secret: Secret, values: SecretValues, knowledge: Knowledge, own: OwnRows
) -> Iterator[tuple[str, FloatArray]]:
    """Of each column one value that is declared or follows; where a column has none, nothing (0)."""
    if secret.kind in OF_DECLARED_COLUMNS:
        low, high = declared_ranges(secret, values, knowledge)
        for how, row in (("lowest", low), ("middle", (low + high) / 2), ("highest", high)):
            if np.isfinite(row).any():
                yield f"{how} of the declared range", np.where(np.isfinite(row), row, 0.0)
    if secret.kind in WITH_KNOWN_CELLS:
        yield from _middles("the known cells", known_table(secret, values, knowledge))
    for sample in knowledge.samples:
        if sample.owner == secret.owner:
            yield from _middles("the public sample", in_columns(sample.rows, values))
    for table in own.alike:
        yield from _middles("its own rows", in_columns(table, values))


def declared_ranges(secret: Secret, values: SecretValues, knowledge: Knowledge) -> tuple[FloatArray, FloatArray]:
    """Low and high of each column; NaN where they are not declared."""
    width = int(np.prod(values.cell_shape))
    low, high = np.full(width, np.nan), np.full(width, np.nan)
    place = {name: index for index, name in enumerate(values.columns)}
    for column in knowledge.columns:
        if column.owner == secret.owner and column.column in place:
            at = place[column.column]
            low[at] = np.nan if column.low is None else column.low
            high[at] = np.nan if column.high is None else column.high
    return low, high


def in_columns(table: Table, values: SecretValues) -> FloatArray:
    """Its rows in the secret's columns, flat; a table of pixels has no names to go by."""
    if not values.columns:
        fits = table.values.shape[1] == int(np.prod(values.cell_shape))
        return np.asarray(table.values, dtype=np.float64) if fits else np.empty((0, int(np.prod(values.cell_shape))))
    cells = np.full((len(table.ids), len(values.columns)), np.nan)
    for index, name in enumerate(values.columns):
        if name in table.columns:
            cells[:, index] = table.values[:, table.columns.index(name)]
    return cells


def _middles(whose: str, cells: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    told = np.isfinite(cells)
    if not told.any():
        return
    counts = told.sum(axis=0)
    means = np.where(told, cells, 0.0).sum(axis=0) / np.maximum(counts, 1)
    yield f"mean of {whose}", means
    ordered = np.sort(np.where(told, cells, np.inf), axis=0)
    at = np.maximum(counts - 1, 0) // 2
    yield f"median of {whose}", np.where(counts > 0, ordered[at, np.arange(len(at))], 0.0)
