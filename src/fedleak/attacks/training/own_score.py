"""What a coalition itself adds to every score: its features times its weights at the start of each round."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.view import View


class OwnScore:
    """The members' scores by round and row; labels as -1 or +1 where a member holds them."""

    def __init__(self, view: View, members: tuple[str, ...] | None = None) -> None:
        self._tables = []
        self._weights: list[dict[int, FloatArray]] = []
        for member in view.coalition if members is None else members:
            if any(True for _ in view.records("features", member)):
                self._tables.append(np.asarray(view.table("features", member).values, dtype=np.float64))
                self._weights.append(_weights_before(view, member))
                self.row_ids: IntArray = np.asarray(view.table("features", member).ids, dtype=np.int64)
        if not self._tables:
            raise MissingFromViewError(f"the view of {', '.join(view.coalition)} holds no features")
        self._position = {int(row): index for index, row in enumerate(self.row_ids)}
        self.signs = _signs(view, self.row_ids)

    def positions(self, ids: IntArray) -> IntArray:
        return np.array([self._position[int(row)] for row in ids], dtype=np.int64)

    def scores(self, round_number: int, rows: IntArray) -> FloatArray:
        """Sum over the members of x . theta, with the weights that the round starts from."""
        parts = [
            table[rows] @ weights[round_number] for table, weights in zip(self._tables, self._weights, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def _weights_before(view: View, member: str) -> dict[int, FloatArray]:
    """A record of round t holds the weights after it, so round t + 1 starts from them; setup is round -1."""
    return {r.round + 1: r.value.values for r in view.records("weights", member) if isinstance(r.value, Array)}


def _signs(view: View, row_ids: IntArray) -> FloatArray | None:
    for member in view.coalition:
        if any(True for _ in view.records("labels", member)):
            table = view.table("labels", member)
            by_row = dict(zip(table.ids.tolist(), (2.0 * table.values[:, 0] - 1.0).tolist(), strict=True))
            return np.array([by_row[int(row)] for row in row_ids])
    return None
