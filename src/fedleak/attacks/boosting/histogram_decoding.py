"""The bin of every cell of a partner, from the sums that boosting asks it for.

The label holder knows g and h of all rows, and opens their sums over the left rows of every split that a partner could
make, at every node of every tree. A row's bin is the same everywhere, so each column is one system of linear equations
in whole numbers. A cell is named only where every solution has it in that bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.bin_counts import BUDGETS, proved_counts
from fedleak.attacks.boosting.column_readings import Reading, Rest, bin_sums, readings
from fedleak.attacks.boosting.histogram_system import HistogramSystem, InconsistentSumsError, histogram_system
from fedleak.attacks.boosting.label_holder_sums import TreeOfPartner, trees_of_partner
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.protocols.boosting.vocabulary import HIDDEN
from fedleak.theory.boosted_trees import SumsOfBins
from fedleak.theory.condition import State

MISSING_BIN = -1.0
LAST_GROUP = {Rest.MISSING: MISSING_BIN, Rest.UNTOLD: np.nan}  # what rows beyond the last cut are called


@dataclass(frozen=True, eq=False)
class PlacedColumn:
    """Bins of the rows that are placed, NaN elsewhere; ``shared`` rows are proved to be exchangeable with rows of
    another bin, so that nobody can place them from these sums."""

    bins: FloatArray
    shared: IntArray
    reading: Reading = ()  # the one that the bins are by
    consistent: bool = True


def placed_column(n_rows: int, trees: Sequence[TreeOfPartner], column: int, budgets: tuple[int, ...]) -> PlacedColumn:
    """By the one reading of the column that the sums do not refute; nothing where several are left."""
    possible = readings(trees, column)
    fitting = [_by_reading(n_rows, trees, reading, budgets) for reading in possible]
    placed = [one for one in fitting if one is not None]
    if len(placed) == 1:
        return placed[0]
    nothing = np.full(n_rows, np.nan), np.zeros(0, dtype=np.int64)
    return PlacedColumn(*nothing, consistent=bool(placed) or not possible)


def _by_reading(
    n_rows: int, trees: Sequence[TreeOfPartner], reading: Reading, budgets: tuple[int, ...]
) -> PlacedColumn | None:
    """None where no rows have such sums."""
    orders = [(tree, order) for tree, order in zip(trees, reading, strict=True) if order is not None]
    nodes = [node for tree, order in orders for node in bin_sums(tree, order)]
    if not nodes:
        return PlacedColumn(np.full(n_rows, np.nan), np.zeros(0, dtype=np.int64), reading)
    try:
        system = histogram_system(n_rows, nodes)
        return _placed(system, proved_counts(system, budgets), reading, orders[0][1].rest)
    except InconsistentSumsError:
        return None


def _placed(system: HistogramSystem, counts: IntArray, reading: Reading, rest: Rest) -> PlacedColumn:
    """A group is placed where all its rows are in one bin; where they are proved to be in several, nobody can."""
    whole: BoolArray = np.equal(counts, system.sizes[:, None])
    bins = np.where(whole.any(axis=1), np.argmax(whole, axis=1), np.nan)
    bins[bins == system.n_bins - 1] = LAST_GROUP[rest] if rest in LAST_GROUP else system.n_bins - 1
    divided = np.asarray(((counts > 0) & (counts < system.sizes[:, None])).any(axis=1))
    return PlacedColumn(bins[system.group_of], np.flatnonzero(divided[system.group_of]), reading)


@dataclass(frozen=True)
class HistogramDecoding(Attack):
    name = "histogram-decoding"
    summary = "places a partner's cells in their quantile bins by the sums that it gives for splits"
    reference = Reference("fedleak", "docs/attacks/histogram-decoding.md")
    requires = frozenset({Capability.LABELS, Capability.CANDIDATE_SUMS})
    produces = SecretKind.BINS

    budgets: tuple[int, ...] = BUDGETS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, trees = trees_of_partner(view, view.target.owner)
        width = view.facts.party(view.target.owner).n_features
        columns = range(width or 1 + max(int(tree.column_of.max(initial=0)) for tree in trees.values()))
        if all((tree.column_of == HIDDEN).all() for tree in trees.values()):
            return _hidden(view, ids, len(columns))
        placed = [placed_column(len(ids), list(trees.values()), column, self.budgets) for column in columns]
        return answer(view, ids, placed, n_trees=len(trees))

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = SumsOfBins.assess(facts)
        if assessment.state is not State.HOLDS:
            # Without sums there is nothing to read. Hidden columns, or noise, are no proof that sums tell nothing.
            lacking = facts.capabilities is not None and not cls.requires <= facts.capabilities
            return from_assessment(assessment, if_fails=Verdict.IMPOSSIBLE if lacking else Verdict.UNKNOWN)
        reasons = ("rows that differ in g, h or a node are told apart: more trees and levels tell more apart",)
        return Prediction(Verdict.PARTIAL, reasons)


def _hidden(view: View, ids: IntArray, width: int) -> Guess:
    why = "the partner hides which column a candidate is about, so that cuts of different columns mix"
    return Guess(view.target, Status.UNDETERMINED, ids, np.full((len(ids), width), np.nan), why=why)


def answer(view: View, ids: IntArray, placed: list[PlacedColumn], *, n_trees: int) -> Guess:
    values = np.stack([column.bins for column in placed], axis=1)
    n_placed, n_shared = int(np.isfinite(values).sum()), sum(len(column.shared) for column in placed)
    inconsistent = [number for number, column in enumerate(placed) if not column.consistent]
    evidence = {
        "trees": n_trees,
        "cells placed": n_placed / values.size,
        "cells that the sums cannot place": n_shared / values.size,
        "columns whose sums fit no rows": len(inconsistent),
    }
    status = Status.RECOVERED if n_placed == values.size else Status.PARTIAL
    if not n_placed:
        status = Status.NOT_IDENTIFIABLE if n_shared == values.size else Status.UNDETERMINED
    why = f"{n_placed} of {values.size} cells have one bin in every solution; {n_shared} are exchangeable with others"
    if inconsistent:
        why += f"; sums of {len(inconsistent)} columns fit no rows at all"
    certificate = "the sums of g and h leave these cells one bin, exactly, in whole numbers" if n_placed else ""
    return Guess(view.target, status, ids, values, evidence=evidence, why=why, certificate=certificate)
