"""A party that holds rows of a horizontally federated table."""

from __future__ import annotations

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.federation import Party
from fedleak.core.payload import Array, Scalar, Table
from fedleak.crypto.secure_aggregation import Words
from fedleak.protocols.actor import Actor
from fedleak.protocols.horizontal.masking import Masker
from fedleak.protocols.horizontal.recovery import RecoveringMasker
from fedleak.protocols.horizontal.settings import SYNCHRONISED, HorizontalLogisticSettings


class RowHolder:
    """Its actor, its rows, its labels as -1/+1, and its batches."""

    def __init__(self, party: Party, actor: Actor, settings: HorizontalLogisticSettings) -> None:
        if party.train.labels is None or not np.isin(party.train.labels, (0, 1)).all():
            raise InputError(f"labels of {party.name} must be 0 or 1; set [data] positive to the class that is 1")
        self.party = party
        self.actor = actor
        self._settings = settings
        self.features: FloatArray = actor.take_in(steps.OWN_DATA, party.train.features)
        self.signs: FloatArray = 2.0 * party.train.labels - 1.0
        self.masker = Masker(actor, settings.fraction_bits)
        self.recovering: RecoveringMasker | None = None
        if settings.recovery_threshold:
            self.recovering = RecoveringMasker(
                actor, settings.fraction_bits, settings.recovery_threshold, self.masker.channels
            )
        self._order: IntArray = actor.rng.permutation(len(self.features))
        actor.record(steps.OWN_DATA, "features", Table(party.columns, party.train.ids, self.features))
        actor.record(steps.OWN_DATA, "labels", Table(("label",), party.train.ids, party.train.labels[:, None]))

    def introduce(self) -> None:
        """Publish the number of rows and the masking key."""
        self.actor.publish(steps.ROW_COUNT, Scalar(len(self.features)))
        self.masker.publish_key()

    def contribute(self, weights: FloatArray, rate: float) -> Words:
        """The party's masked update of a round; its records hold what it put under the mask."""
        actor = self.actor
        update = actor.compute(steps.LOCAL_UPDATE, weights, lambda start: self._local_update(start, rate))
        sent = actor.outgoing(steps.LOCAL_UPDATE, update)
        actor.record(steps.LOCAL_UPDATE, "update", Array(self.masker.rounded(sent)))
        return (self.recovering or self.masker).mask(sent)

    def batches(self) -> list[IntArray]:
        """Row positions of each of the party's batches, in the order in which it visits them."""
        if self.actor.name in self._settings.shuffled:
            self._order = self.actor.rng.permutation(len(self.features))
        size = self._settings.batch_size or len(self.features)
        return [self._order[start : start + size] for start in range(0, len(self._order), size)]

    def _local_update(self, start: FloatArray, rate: float) -> FloatArray:
        """Synchronised: λ times the gradient of one batch, the batches taking turns (section 3.2). Asynchronised: what
        a step on each batch in turn changes (section 3.3)."""
        batches = self.batches()
        if self._settings.update == SYNCHRONISED:
            batches = [batches[self.actor.round % len(batches)]]
        weights = start
        for batch in batches:
            weights = weights - rate * self._gradient(batch, weights)
        return start - weights

    def _gradient(self, batch: IntArray, weights: FloatArray) -> FloatArray:
        """∇ = XᵀXθ/4 − XᵀY/2 (section 3.1): of the loss log 2 − yθx/2 + (θx)²/8, summed over the rows."""
        rows = self.features[batch]
        gradient: FloatArray = rows.T @ (0.25 * (rows @ weights) - 0.5 * self.signs[batch])
        return gradient
