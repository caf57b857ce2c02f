"""A party that holds rows or columns and runs a layered network on them, and the loss at the holder of the labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import AnyArray, FloatArray, IntArray, flat_rows
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Payload, Table, Tree
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party
from fedleak.models.layered import LayeredNetwork
from fedleak.models.local_batch import Backward, LocalBatch, loss_gradient
from fedleak.protocols.actor import Actor
from fedleak.protocols.linear.member import batches
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.network_settings import NetworkSettings


class Worker:
    """Its own rows, as they went through its hooks."""

    def __init__(self, party: Party, actor: Actor) -> None:
        self.party, self.actor = party, actor
        self.cells: FloatArray = actor.take_in(steps.OWN_DATA, party.train.features)
        ids, labels = party.train.ids, party.train.labels
        if party.columns:
            actor.record(steps.OWN_DATA, steps.FEATURES, Table(party.columns, ids, flat_rows(self.cells)))
        if labels is not None:
            actor.record(steps.OWN_DATA, steps.LABELS, Table(("label",), ids, labels[:, None]))

    @property
    def name(self) -> str:
        return self.party.name

    def begin(self, network: LayeredNetwork, rows: IntArray) -> LocalBatch:
        """The forward pass over rows by position; dropout draws from the party's own randomness."""
        return LocalBatch(network, self.cells[rows], seed=int(self.actor.rng.integers(2**31)))

    def gradients(self, batch: LocalBatch, upstream: AnyArray) -> Tree:
        """What the party sends as its gradient; a hook may compute it in another way."""
        honest = Backward(batch, upstream)
        return self.actor.compute(networks.LAYER_GRADIENTS, honest, lambda given: gradient_tree(given.gradient()))


def gradient_tree(gradients: Mapping[str, AnyArray]) -> Tree:
    return Tree({name: Array(gradient) for name, gradient in gradients.items()})


def arrays_in(tree: Payload) -> dict[str, AnyArray]:
    """The arrays of a gradient, by parameter."""
    if not isinstance(tree, Tree) or not all(isinstance(item, Array) for item in tree.items.values()):
        raise TypeError(f"a gradient must be a Tree of Arrays; got {type(tree).__name__}")
    return {name: item.values for name, item in tree.items.items() if isinstance(item, Array)}


@dataclass(frozen=True, eq=False)
class Joint:
    """What the label holder makes of everybody's embeddings of a batch: the loss, and its gradient by each of them."""

    loss: float
    top: LocalBatch
    upstream: AnyArray  # by the top's scores
    by_embedding: tuple[AnyArray, ...]


def joint_gradients(top: LayeredNetwork, embeddings: Sequence[AnyArray], labels: IntArray, *, seed: int) -> Joint:
    batch = LocalBatch(top, np.hstack(embeddings), seed=seed)
    loss, upstream = loss_gradient(batch.outputs, labels)
    ends = np.cumsum([one.shape[1] for one in embeddings])
    parts = np.split(batch.back_to_inputs(upstream), ends[:-1], axis=1)
    return Joint(loss, batch, upstream, tuple(np.ascontiguousarray(part) for part in parts))


def batches_of(n_rows: int, settings: NetworkSettings, rng: np.random.Generator) -> Iterator[IntArray]:
    """Positions of the rows of every batch."""
    if settings.batch_size > n_rows:
        raise InputError(f"batch_size must be at most the {n_rows} training rows; got {settings.batch_size}")
    if settings.batches == networks.SHUFFLED:
        return islice(batches(n_rows, settings.batch_size, settings.rounds, True, rng), settings.rounds)
    return (rng.choice(n_rows, settings.batch_size, replace=False) for _ in range(settings.rounds))


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
