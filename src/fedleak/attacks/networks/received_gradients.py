"""Gradients of its own network's outputs, as a party without labels receives them: one for each row of each batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.view import View
from fedleak.protocols.networks import vocabulary as networks

DECAY = 0.99  # of earlier batches, in the direction that gradients take
N_POWER_STEPS = 3


@dataclass(frozen=True, eq=False)
class RowGradients:
    """All visits to all rows, batch after batch. Of several members the gradients stand side by side."""

    ids: IntArray  # of the rows that were visited
    row: IntArray  # (visits,): position among the ids
    gradients: FloatArray  # (visits, outputs), times the size of the batch: of the row's own loss
    ends: IntArray  # of each batch among the visits

    @property
    def lengths(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.gradients, axis=1))

    def means(self, of_visits: FloatArray) -> FloatArray:
        """Over the visits to each row."""
        sums = np.zeros((len(self.ids), *of_visits.shape[1:]))
        np.add.at(sums, self.row, of_visits)
        counts = np.bincount(self.row, minlength=len(self.ids))
        return np.asarray(sums / counts.reshape(-1, *(1 for _ in of_visits.shape[1:])))

    def along_main_direction(self) -> FloatArray:
        """(visits,): the part of each gradient along the direction that most of its batch, and of those before, has.

        The top moves little from a batch to the next: power steps from the last direction follow it, and keep its sign.
        """
        found = np.zeros(len(self.row))
        moments = np.zeros((self.gradients.shape[1],) * 2)
        direction: FloatArray | None = None
        for start, end in zip((0, *self.ends[:-1]), self.ends, strict=True):
            batch = self.gradients[start:end]
            moments = DECAY * moments + batch.T @ batch / len(batch)
            if direction is None:
                direction = np.asarray(np.linalg.eigh(moments)[1][:, -1])
            for _ in range(N_POWER_STEPS):
                pushed = moments @ direction
                direction = pushed / max(float(np.linalg.norm(pushed)), 1e-300)
            found[start:end] = batch @ direction
        return found


def row_gradients(view: View) -> RowGradients:
    """What all members of the coalition received, in rounds whose rows are known."""
    rows = {message.round: _values(message.payload).astype(np.int64) for message in view.at(networks.BATCH)}
    parts: dict[int, list[FloatArray]] = {}
    for message in view.at(networks.EMBEDDING_GRADIENTS):
        if message.receiver in view.coalition and message.round in rows:
            parts.setdefault(message.round, []).append(_values(message.payload).astype(np.float64))
    if not parts:
        raise MissingFromViewError("gradients of a member's own outputs must be in the view, with their rows; got none")
    visited = np.concatenate([rows[number] for number in parts])
    ids, row = np.unique(visited, return_inverse=True)
    scaled = [len(rows[number]) * np.hstack(received) for number, received in parts.items()]
    return RowGradients(ids, row, np.concatenate(scaled), np.cumsum([len(one) for one in scaled]))


def _values(payload: object) -> FloatArray:
    if not isinstance(payload, Array):
        raise MissingFromViewError(f"batches and gradients must be arrays; got {type(payload).__name__}")
    return np.asarray(payload.values)
