"""A party that holds rows or columns and runs a layered network on them, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import AnyArray, FloatArray, IntArray, flat_rows
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Payload, Table, Tree
from fedleak.core.whole.federation import Party
from fedleak.models.layered import LayeredNetwork
from fedleak.models.local_batch import Backward, LocalBatch
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
        return self._gradients(networks.LAYER_GRADIENTS, batch, upstream)

    def own_step(self, batch: LocalBatch, upstream: AnyArray) -> dict[str, AnyArray]:
        """What the party steps its own bottom by, at home."""
        return arrays_in(self._gradients(networks.OWN_STEP, batch, upstream))

    def _gradients(self, step: steps.Step[Tree], batch: LocalBatch, upstream: AnyArray) -> Tree:
        honest = Backward(batch, upstream)
        return self.actor.compute(step, honest, lambda given: gradient_tree(given.gradient()))


def gradient_tree(gradients: Mapping[str, AnyArray]) -> Tree:
    return Tree({name: Array(gradient) for name, gradient in gradients.items()})


def arrays_in(tree: Payload) -> dict[str, AnyArray]:
    """The arrays of a gradient, by parameter."""
    if not isinstance(tree, Tree) or not all(isinstance(item, Array) for item in tree.items.values()):
        raise TypeError(f"a gradient must be a Tree of Arrays; got {type(tree).__name__}")
    return {name: item.values for name, item in tree.items.items() if isinstance(item, Array)}


def batches_of(n_rows: int, settings: NetworkSettings, rng: np.random.Generator) -> Iterator[IntArray]:
    """Positions of the rows of every batch."""
    if settings.batch_size > n_rows:
        raise InputError(f"batch_size must be at most the {n_rows} training rows; got {settings.batch_size}")
    if settings.batches == networks.SHUFFLED:
        return islice(batches(n_rows, settings.batch_size, settings.rounds, True, rng), settings.rounds)
    return (rng.choice(n_rows, settings.batch_size, replace=False) for _ in range(settings.rounds))
