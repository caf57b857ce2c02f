"""What workers of a cut network exchange over a batch: outputs go to the holder of the labels, gradients come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.payload import Array
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party
from fedleak.models.local_batch import LocalBatch, loss_gradient
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.cut_network import CutNetwork
from fedleak.protocols.networks.network_settings import classes_of
from fedleak.protocols.networks.network_worker import Worker


@dataclass(frozen=True, eq=False)
class Share:
    """One worker's batch, and the gradient by its outputs as it received it."""

    worker: Worker
    batch: LocalBatch
    upstream: AnyArray


@dataclass(frozen=True, eq=False)
class Exchanged:
    shares: tuple[Share, ...]
    top: LocalBatch
    upstream: AnyArray  # by the top's scores

    @property
    def top_gradients(self) -> dict[str, AnyArray]:
        return self.top.back(self.upstream)


class EmbeddingExchange:
    """``owners`` have a bottom; ``holder`` has the labels, and perhaps a bottom too."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.owners = [worker for worker in workers if worker.party.columns]
        self.holder = next(worker for worker in workers if worker.actor.role is Role.ACTIVE)
        self._labels = classes_of(self.holder.party.train.labels, self.holder.name)

    @property
    def n_classes(self) -> int:
        return max(2, int(self._labels.max()) + 1)

    @property
    def ids(self) -> IntArray:
        return self.holder.party.train.ids

    def run(self, network: CutNetwork, rows: IntArray) -> Exchanged:
        """Over rows by position. Defenses of the label holder find the batch among its records."""
        actor = self.holder.actor
        actor.record(networks.BATCH, networks.BATCH_ROWS, Array(self.ids[rows]))
        begun = [worker.begin(network.bottoms[worker.name], rows) for worker in self.owners]
        embeddings = [self._to_holder(worker, batch.outputs) for worker, batch in zip(self.owners, begun, strict=True)]
        top = LocalBatch(network.top, np.hstack(embeddings), seed=int(actor.rng.integers(2**31)))
        _, upstream = loss_gradient(top.outputs, self._labels[rows])
        ends = np.cumsum([one.shape[1] for one in embeddings])
        parts = np.split(top.back_to_inputs(upstream), ends[:-1], axis=1)
        shares = [
            Share(worker, batch, self._from_holder(worker, np.ascontiguousarray(part)))
            for worker, batch, part in zip(self.owners, begun, parts, strict=True)
        ]
        return Exchanged(tuple(shares), top, upstream)

    def _to_holder(self, worker: Worker, outputs: AnyArray) -> AnyArray:
        """What the label holder has of a worker's outputs; its own stay with it."""
        if worker is self.holder:
            return outputs
        return np.asarray(worker.actor.send(networks.EMBEDDINGS, self.holder.actor, Array(outputs)).values)

    def _from_holder(self, worker: Worker, gradient: AnyArray) -> AnyArray:
        if worker is self.holder:
            return gradient
        sent = self.holder.actor.send(networks.EMBEDDING_GRADIENTS, worker.actor, Array(gradient))
        return np.asarray(sent.values)


def column_holders(federation: Federation) -> tuple[Party, ...]:
    """The parties that hold columns or pixels of the same rows, with exactly one holder of labels among all."""
    active, passive = federation.with_role(Role.ACTIVE), federation.with_role(Role.PASSIVE)
    if len(active) != 1 or not passive:
        raise InputError(
            f"{federation.protocol} must have one active and one or more passive parties; "
            f"got {len(active)} active and {len(passive)} passive"
        )
    for party in passive:
        if not np.array_equal(party.train.ids, active[0].train.ids):
            raise InputError(f"rows of {party.name} must be those of {active[0].name}, in the same order")
        if not party.columns:
            raise InputError(f"{party.name} must hold a column or a pixel or more: it has nothing to put in")
    return tuple(party for party in federation.parties if party.role in (Role.ACTIVE, Role.PASSIVE))
