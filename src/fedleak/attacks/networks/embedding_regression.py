"""A partner's columns by regression from its embeddings, learnt on cells that are known.

The label holder does not have its partner's network, so that it cannot pass a public sample through it: pairs of an
embedding and a cell are what it knows of rows in the table. (Inversion by queries to the network, as in He et al. 2019,
"Model inversion attacks against collaborative inference", needs more than a split network gives.) A ridge regression
from the last embedding of a row, and the adversary's own columns, to each of the partner's; its strength is chosen by
leaving out known cells one at a time.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.inversion.known_cells import PlacedCells, known_cells
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.networks import vocabulary as networks

FEWEST = 3  # known cells of a column
STRENGTHS = np.logspace(-14, 2, 33)  # of the ridge, in units of the largest squared singular value


class EmbeddingRegression(Attack):
    name = "embedding-regression"
    summary = "learns on known cells how a partner's columns follow from its embeddings, and predicts the others"
    reference = Reference("fedleak", "docs/attacks/embedding-regression.md")
    requires = frozenset({Capability.EMBEDDINGS, Capability.BATCH_IDS, Capability.KNOWN_CELLS})
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, embeddings = _last_embeddings(view)
        width = view.facts.party(view.target.owner).n_features
        if width is None:
            raise MissingFromViewError(f"the number of columns of {view.target.owner} must be public; it is not known")
        known = known_cells(view.knowledge, view.target.owner, ids)
        design = np.hstack([embeddings, *_own_columns(view, ids)])
        table, errors = _regressed(design, known, width)
        if np.isnan(table).all():
            why = f"no column has {FEWEST} known cells in rows that were embedded"
            return nothing(view, why, {"known cells": len(known.values)}, width=width, status=Status.UNDETERMINED)
        table[known.rows, known.columns] = known.values
        worst = float(np.nanmax(errors))
        return Guess(
            view.target,
            Status.PARTIAL,
            ids,
            table,
            evidence={"known cells": len(known.values), "largest error of left-out cells": worst},
            why=f"cells that were left out came out to {worst:.2g} of their column's deviation or better; no guarantee",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and not cls.requires <= facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("no embedding is received, or no cell is known",))
        return Prediction(Verdict.UNKNOWN, ("as much as embeddings keep of the columns; no theorem bounds it",))


def _last_embeddings(view: View) -> tuple[IntArray, FloatArray]:
    """Of every row the one that came last: networks move little between the last batches."""
    batches = {message.round: message.payload for message in view.at(networks.BATCH)}
    found: dict[int, FloatArray] = {}
    for message in view.at(networks.EMBEDDINGS):
        rows = batches.get(message.round)
        if message.sender == view.target.owner and isinstance(rows, Array) and isinstance(message.payload, Array):
            found |= zip(map(int, rows.values), np.asarray(message.payload.values, dtype=np.float64), strict=True)
    if not found:
        raise MissingFromViewError(f"embeddings of {view.target.owner} must be in the view, with their rows; got none")
    ids = np.array(sorted(found), dtype=np.int64)
    return ids, np.stack([found[int(row)] for row in ids])


def _own_columns(view: View, ids: IntArray) -> list[FloatArray]:
    tables = [view.table(FEATURES, name) for name in view.coalition if FEATURES.name in view.names(name)]
    places = [positions_of(table.ids) for table in tables]
    return [
        np.asarray(table.values, dtype=np.float64)[[place[int(row)] for row in ids]]
        for table, place in zip(tables, places, strict=True)
    ]


def _regressed(design: FloatArray, known: PlacedCells, width: int) -> tuple[FloatArray, FloatArray]:
    """(rows, width), NaN in columns with too few known cells; errors of left-out cells by column, in its deviations."""
    table, errors = np.full((len(design), width), np.nan), np.full(width, np.nan)
    for column in range(width):
        mine = known.columns == column
        if mine.sum() >= FEWEST:
            table[:, column], errors[column] = _ridge(design, known.rows[mine], known.values[mine])
    return table, errors


def _ridge(design: FloatArray, rows: IntArray, values: FloatArray) -> tuple[FloatArray, float]:
    """Predictions for all rows. Leaving one out: its residual over one less its leverage."""
    middle, spread = design[rows].mean(axis=0), design[rows].std(axis=0)
    scaled = (design - middle) / np.where(spread > 0, spread, 1.0)
    left, sizes, right = np.linalg.svd(scaled[rows], full_matrices=False)
    centred, deviation = values - values.mean(), float(values.std()) or 1.0
    best, predicted = np.inf, np.full(len(design), values.mean())
    for strength in STRENGTHS * float(sizes[0] ** 2 or 1.0):
        kept = sizes**2 / (sizes**2 + strength)
        leverage = (left**2 * kept).sum(axis=1) + 1 / len(rows)
        left_out = (centred - left @ (kept * (left.T @ centred))) / np.maximum(1 - leverage, 1e-9)
        error = float(np.sqrt(np.mean(left_out**2))) / deviation
        if error < best:
            slopes = right.T @ (sizes / (sizes**2 + strength) * (left.T @ centred))
            best, predicted = error, values.mean() + scaled @ slopes
    return predicted, best
