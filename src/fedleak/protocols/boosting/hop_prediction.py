"""Prediction hop by hop: rows stand at nodes, and each node's owner says which way they go.

The label holder sees every hop. Where only scores are shown, an ideal computation does the same and opens the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import OracleError
from fedleak.core.oracle import Answer, OracleSpec, Service
from fedleak.core.payload import Array, Payload, Tree
from fedleak.core.transcript import Message
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.tree_models import NO_CHILD
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.partner import ColumnOwner
from fedleak.protocols.boosting.row_index import directions, integers

Asked = Callable[[int, IntArray, IntArray, IntArray], BoolArray]  # owner, rows, trees, nodes: which of them go left


@dataclass(frozen=True, eq=False)
class Structure:
    """What the label holder has of the trees: where rows go next, and whose each node is (its own: 0)."""

    model: BoostedModel  # of which it uses children, sizes and weights
    owner: IntArray

    def leaves(self, n_rows: int, ask: Asked) -> IntArray:
        """(rows, trees): the leaf that each row ends in."""
        model, starts = self.model, self.model.starts
        at = np.zeros((n_rows, model.n_trees), dtype=np.int64)
        while True:
            place = starts + at
            rows, trees = np.nonzero(model.left[place] != NO_CHILD)
            if not len(rows):
                return at
            owner = self.owner[place[rows, trees]]
            for number in np.unique(owner):
                mine = owner == number
                r, t = rows[mine], trees[mine]
                left = ask(int(number), r, t, at[r, t])
                node = starts[t] + at[r, t]
                at[r, t] = np.where(left, model.left[node], model.right[node])

    def scores(self, leaves: IntArray) -> FloatArray:
        model = self.model
        total = np.full((len(leaves), model.n_scores), model.first_score)
        for tree, score in enumerate(model.score_of_tree):
            total[:, score] += model.weight[model.starts[tree] + leaves[:, tree]]
        return total


def predict_by_hops(
    structure: Structure, owners: Sequence[ColumnOwner], parts: Sequence[FloatArray], ids: IntArray
) -> FloatArray:
    """The scores of rows that all parties hold, by messages; ``parts`` are the owners' columns of them."""
    holder = owners[0].actor

    def ask(number: int, rows: IntArray, trees: IntArray, nodes: IntArray) -> BoolArray:
        owner = owners[number]
        if number == 0:
            return owner.hops(parts[0][rows], trees, nodes)
        asked = {"rows": Array(ids[rows]), "trees": Array(trees), "nodes": Array(nodes)}
        request = holder.send(boosting.HOP_REQUEST, owner.actor, Tree(asked))
        left = owner.hops(parts[number][rows], integers(request, "trees"), integers(request, "nodes"))
        answer = owner.actor.send(boosting.HOP, holder, Tree({**asked, "left": Array(left)}))
        return directions(answer, len(rows), owner.actor.name)

    return structure.scores(structure.leaves(len(ids), ask))


def prediction_service(
    structure: Structure, owners: Sequence[ColumnOwner], settings: SecureBoostSettings
) -> tuple[str, Service]:
    """For records that the label holder makes up: rows in all parties' columns, the label holder's first."""
    routing = settings.prediction == "routing"
    name = boosting.ROUTING_SERVICE if routing else boosting.SCORE_SERVICE
    width = len(structure.model.columns)
    spec = OracleSpec(
        name,
        input=f"records in the {width} columns of all parties, party by party, NaN where a cell is missing",
        answer="each hop at a partner's nodes, by the record's place in the query"
        if routing
        else "scores, a row a record",
        budget=settings.query_budget or None,
        record_budget=settings.record_budget or None,
    )
    client = owners[0].actor.name

    def serve(query: Payload) -> Answer:
        rows = _checked_records(query, structure.model, settings)
        found: list[Message] = []
        leaves = structure.leaves(len(rows), _asking(owners, rows, client, found))
        if not routing:
            scores = Array(structure.scores(leaves))
            found = [Message(boosting.SCORES.name, 0, boosting.ROUTING_COMPUTATION, client, scores)]
        return Answer(tuple(found))

    partners = ", ".join(owner.actor.name for owner in owners[1:])
    return name, Service(partners, (client,), spec, serve)


def _asking(owners: Sequence[ColumnOwner], rows: FloatArray, client: str, found: list[Message]) -> Asked:
    parts = list(_dealt(owners, rows))

    def ask(number: int, places: IntArray, trees: IntArray, nodes: IntArray) -> BoolArray:
        owner = owners[number]
        left = owner.hops(parts[number][places], trees, nodes)
        if number:
            asked = {"rows": Array(places), "trees": Array(trees), "nodes": Array(nodes), "left": Array(left)}
            found.append(Message(boosting.HOP.name, 0, owner.actor.name, client, Tree(asked)))
        return left

    return ask


def _dealt(owners: Sequence[ColumnOwner], rows: FloatArray) -> Iterator[FloatArray]:
    for owner in owners:
        yield rows[:, owner.offset : owner.offset + len(owner.party.columns)]


def _checked_records(query: Payload, model: BoostedModel, settings: SecureBoostSettings) -> FloatArray:
    width = len(model.columns)
    if not isinstance(query, Array) or query.values.ndim != 2 or query.values.shape[1] != width:
        found = query.values.shape if isinstance(query, Array) else type(query).__name__
        raise OracleError(f"a query must be an array of records, {width} numbers each; got {found}")
    if query.values.dtype.kind not in "fiu" or not len(query.values):
        raise OracleError(
            f"a query must hold one record of numbers or more; got {query.values.dtype} {query.values.shape}"
        )
    rows = np.asarray(query.values, dtype=np.float64)
    wrong = np.isinf(rows) | (settings.unit_box & ((rows < 0) | (rows > 1)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        allowed = "between 0 and 1" if settings.unit_box else "finite"
        raise OracleError(
            f"record {row} of a query must have {model.columns[column]} {allowed}, or NaN where it is missing; "
            f"got {rows[row, column]:g}"
        )
    return rows
