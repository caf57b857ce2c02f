"""The bin of every marked cell, read off the sums of a label holder that marks rows (Weng et al. 2020).

With a bit a row beside the gradients every sum of a partner names its rows. A cell's bin is the number of the column's
cuts whose left rows it is not among; nothing is solved for.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.boosting.column_readings import ColumnOrder, Rest, readings
from fedleak.attacks.boosting.histogram_decoding import LAST_GROUP
from fedleak.attacks.boosting.label_holder_sums import TreeOfPartner, integers, numbers, trees_of_partner
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Payload
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting


class ReverseSum(Attack):
    name = "reverse-sum"
    summary = "marks rows with a bit each, which a partner's sums then name: their bins, exactly"
    reference = Reference("weng2020", "reverse sum attack")
    requires = frozenset({Capability.LABELS, Capability.CANDIDATE_SUMS})
    produces = SecretKind.BINS
    deviation = "reverse-sum"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        ids, trees = trees_of_partner(view, view.target.owner)
        width = view.facts.party(view.target.owner).n_features or 1 + max(
            int(tree.column_of.max(initial=0)) for tree in trees.values()
        )
        values = np.full((len(ids), width), np.nan)
        place = {int(row): number for number, row in enumerate(ids)}
        for number, marks in _root_marks(view).items():
            if number in trees:
                rows = np.array([place[int(row)] for row in integers(marks, "rows")], dtype=np.int64)
                _fill(values, rows, numbers(marks, "left").astype(bool), trees[number])
        return _answer(view, ids, values)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and not cls.requires <= facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("no sums of a partner's candidates are opened",))
        told = facts.of(boosting.BoostingFacts).reveal_feature
        if facts.capabilities is None or told is None:
            return Prediction(Verdict.UNKNOWN, ("whether sums are opened and columns are told is not known",))
        if not told:
            return Prediction(Verdict.UNKNOWN, ("cuts of different columns are not told apart",))
        # Exact takes more than is public: every column in some tree, every row marked in it, cuts enough to tell.
        few = "a column of one cut or three leaves open which of its groups is missing cells"
        return Prediction(Verdict.PARTIAL, ("a bit a row above the gradients names the rows of every sum", few))


def _root_marks(view: View) -> dict[int, Payload]:
    """By tree, what the root's sums of the victim were made of: the marks before the record of its sums."""
    found: dict[int, Payload] = {}
    wanted = str(boosting.SUMS_OF.of(view.target.owner))
    for member in view.coalition:
        last: Payload | None = None
        for record in view.locals[member]:
            if record.name == str(boosting.ROW_BITS):
                last = record.value
            elif record.name == wanted and last is not None and record.round not in found:
                found[record.round] = last
    if not found:
        raise MissingFromViewError("the view holds no marked sums: the label holder followed the protocol")
    return found


def _fill(values: FloatArray, rows: IntArray, left: BoolArray, tree: TreeOfPartner) -> None:
    """``left`` is (candidates, marked rows): the root comes first, and all its candidates with it."""
    for column in range(values.shape[1]):
        order = _read(tree, column, left, all_marked=len(rows) == len(values))
        if order is not None:
            bins = (~left[order.cuts]).sum(axis=0).astype(np.float64)
            if order.rest in LAST_GROUP:
                bins[bins == len(order.cuts)] = LAST_GROUP[order.rest]
            values[rows, column] = np.where(np.isnan(bins), values[rows, column], bins)


def _read(tree: TreeOfPartner, column: int, left: BoolArray, *, all_marked: bool) -> ColumnOrder | None:
    """The one reading that the marks allow. Left rows that all lie in one another are those of bins: a cut that takes
    missing cells along does not lie in the one that has all present cells, where all rows can be seen."""
    possible = [order for (order,) in readings([tree], column) if order is not None and _nested(left[order.cuts])]
    if all_marked and len(possible) > 1:
        possible = [order for order in possible if order.rest is Rest.BIN]
    return possible[0] if len(possible) == 1 else None


def _nested(sets: BoolArray) -> bool:
    """Each lies in the next."""
    return not (sets[:-1] & ~sets[1:]).any()


def _answer(view: View, ids: IntArray, values: FloatArray) -> Guess:
    n_placed = int(np.isfinite(values).sum())
    status = Status.RECOVERED if n_placed == values.size else Status.PARTIAL
    return Guess(
        view.target,
        status if n_placed else Status.UNDETERMINED,
        ids,
        values,
        evidence={"cells placed": n_placed / values.size},
        why=f"the marks of {int(np.isfinite(values).any(axis=1).sum())} of {len(ids)} rows are in the sums",
        certificate="every sum names its rows, bit by bit" if n_placed else "",
    )
