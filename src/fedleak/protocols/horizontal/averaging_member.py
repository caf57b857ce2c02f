"""A party that steps on its own rows and has its weights averaged with the others'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.federation import Party
from fedleak.core.payload import Array, Table
from fedleak.crypto.secure_aggregation import Words
from fedleak.protocols.actor import Actor
from fedleak.protocols.horizontal.masking import Masker


@dataclass(frozen=True)
class AveragingOptions:
    rate: float
    batch_size: int | None  # None: all rows in every round
    fraction_bits: int
    masked: bool


class AveragingMember:
    def __init__(self, party: Party, actor: Actor, options: AveragingOptions) -> None:
        assert party.train.labels is not None
        self.actor = actor
        self._options = options
        self._ids = party.train.ids
        self._features: FloatArray = actor.take_in(steps.OWN_DATA, party.train.features)
        self._labels = np.asarray(party.train.labels, dtype=np.float64)
        self.masker = Masker(actor, options.fraction_bits, active=options.masked)
        actor.record(steps.OWN_DATA, "features", Table(party.columns, self._ids, self._features))
        actor.record(steps.OWN_DATA, "labels", Table(("label",), self._ids, self._labels[:, None]))

    def introduce(self) -> None:
        """Publish how the rows are numbered, and the masking key."""
        self.actor.publish(steps.ROW_IDS, Array(self._ids))
        self.masker.publish_key()

    def contribution(self, weights: FloatArray) -> Words:
        """The party's weights after its own step, encoded and under its mask; its records hold what is under it."""
        actor = self.actor
        local = actor.compute(steps.LOCAL_WEIGHTS, weights, self._own_step)
        sent = actor.outgoing(steps.LOCAL_WEIGHTS, local)
        actor.record(steps.LOCAL_WEIGHTS, "local-weights", Array(self.masker.rounded(sent)))
        return self.masker.mask(sent)

    def _own_step(self, weights: FloatArray) -> FloatArray:
        """W - rate X^T (X W - Y) / batch (eq. 6, with the mean over the batch)."""
        rows, labels = self._features, self._labels
        if self._options.batch_size is not None:
            chosen = self.actor.rng.permutation(len(rows))[: self._options.batch_size]
            rows, labels = rows[chosen], labels[chosen]
        return np.asarray(weights - self._options.rate * (rows.T @ (rows @ weights - labels)) / len(rows))
