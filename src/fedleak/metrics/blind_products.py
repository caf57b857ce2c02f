"""Inner products of a victim's rows that anybody would expect: of its table as far as it is known, the rest guessed
blindly, and of the adversary's own rows, since people who are alike in some columns are alike in others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.core.adversary import Secret, members
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.alignment import places
from fedleak.metrics.blind_fits import fitted_tables, standardised_columns


def rows_of_columns(values: SecretValues) -> IntArray:
    """The row that each column of inner products is about; a sample of rows has its products with all of them."""
    return np.array([int(name.removeprefix("row ")) for name in values.columns], dtype=np.int64)


def expected_products(
    secret: Secret, values: SecretValues, knowledge: Knowledge, beside: FloatArray
) -> Iterator[tuple[str, FloatArray]]:
    """``beside``: the adversary's own columns, a row for each column of ``values``."""
    people = rows_of_columns(values)
    scored = places(values.ids, people)
    for how, table in _tables(_known(secret, people, knowledge), beside):
        yield how, table[scored] @ table.T


def _tables(known: FloatArray, beside: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    own = standardised_columns(beside[:, np.isfinite(beside).all(axis=0)])
    if own.shape[1]:
        yield "products of its own rows", own
    told = np.isfinite(known)
    if not told.any():
        return
    means = np.where(told, known, 0.0).sum(axis=0) / np.maximum(told.sum(axis=0), 1)
    yield "products of known cells and means", np.where(told, known, means)
    for how, fitted in fitted_tables(known, beside):
        yield f"products of known cells and {how}", np.where(told, known, fitted)


def _known(secret: Secret, people: IntArray, knowledge: Knowledge) -> FloatArray:
    """The owners' columns side by side, as far as a cell of them is known; NaN elsewhere."""
    blocks = [np.empty((len(people), 0))]
    for owner in members(secret.owner):
        columns = [known.columns.max(initial=-1) for known in knowledge.cells if known.owner == owner]
        blocks.append(known_cells(knowledge, owner, people, int(max(columns, default=-1)) + 1))
    return np.hstack(blocks)


def known_cells(knowledge: Knowledge, owner: str, ids: IntArray, width: int) -> FloatArray:
    """(rows, width): the owner's cells as they are known beforehand, flat; NaN where they are not."""
    table = np.full((len(ids), width), np.nan)
    for known in knowledge.cells:
        if known.owner == owner:
            rows = places(known.ids, ids)
            table[rows[rows >= 0], known.columns[rows >= 0]] = known.values[rows >= 0]
    return table
