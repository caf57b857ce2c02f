"""What a server sees of a network cut by columns or pixels, as attacks on one of its workers read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.attacks.networks.batch_indicators import Batches
from fedleak.attacks.networks.layer_gradients import LayerGradient
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array, ModelSpec, Tree
from fedleak.core.view import View
from fedleak.models.layered import LayeredNetwork, layered_of
from fedleak.models.layers import BatchNorm, Dropout
from fedleak.protocols.networks import vocabulary as networks


@dataclass(frozen=True, eq=False)
class CutView:
    """Of the worker that the view is about, or of another. Gradients are read one at a time, from the first again at
    every pass."""

    view: View
    worker: str = ""

    @property
    def owner(self) -> str:
        return self.worker or self.view.target.owner

    @cached_property
    def _networks(self) -> Tree:
        payload = next((message.payload for message in self.view.at(networks.NETWORKS)), None)
        return payload if isinstance(payload, Tree) else Tree({})

    @cached_property
    def bottoms(self) -> Tree:
        found = self._networks.items.get(networks.BOTTOMS)
        return found if isinstance(found, Tree) else Tree({})

    @cached_property
    def network(self) -> LayeredNetwork:
        """The worker's, as it was at the first batch."""
        spec = self.bottoms.items.get(self.owner)
        if not isinstance(spec, ModelSpec):
            raise MissingFromViewError(f"the network of {self.owner} must be in the view; it is not")
        return layered_of(spec)

    @cached_property
    def top(self) -> LayeredNetwork:
        spec = self._networks.items.get(networks.TOP)
        if not isinstance(spec, ModelSpec):
            raise MissingFromViewError("the top network must be in the view; it is not")
        return layered_of(spec)

    @cached_property
    def n_networks(self) -> int:
        """How often parameters were sent: more than once where they train."""
        rounds = {message.round for message in self.view.at(networks.NETWORKS)}
        return len(rounds)

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """Of the worker's gradients whose rows are known, in order."""
        known = {message.round for message in self.view.at(networks.BATCH)}
        sent = dict.fromkeys(
            message.round for message in self.view.at(networks.LAYER_GRADIENTS) if message.sender == self.owner
        )
        return tuple(number for number in sent if number in known)

    @cached_property
    def drawn(self) -> tuple[IntArray, ...]:
        """Ids of the rows of each of those batches."""
        rows = {message.round: message.payload for message in self.view.at(networks.BATCH)}
        return tuple(_values(rows[number]).astype(np.int64) for number in self.rounds)

    @cached_property
    def batches(self) -> Batches:
        return Batches.of(self.drawn)

    @property
    def mixes_rows(self) -> bool:
        """Whether a row's gradient depends on the others of its batch."""
        return any(isinstance(layer, BatchNorm | Dropout) for layer in self.network.layers)

    def gradients(self) -> Iterator[dict[str, AnyArray]]:
        """Of every layer, batch by batch, by parameter."""
        wanted = set(self.rounds)
        for message in self.view.at(networks.LAYER_GRADIENTS):
            if message.sender == self.owner and message.round in wanted and isinstance(message.payload, Tree):
                yield {name: _values(part) for name, part in message.payload.items.items()}

    def layer(self, place: int) -> Iterator[LayerGradient]:
        """Of a fully connected layer with a bias, times the size of each batch."""
        for size, found in zip(self.batches.sizes, self.gradients(), strict=True):
            weight, bias = (size * found[f"{place}.{name}"].astype(np.float64) for name in ("weight", "bias"))
            yield LayerGradient(weight, bias)

    def as_cells(self, inputs: AnyArray) -> FloatArray:
        """What goes into the network, as its owner holds it: a picture's channels last."""
        shaped = np.asarray(inputs, dtype=np.float64).reshape(len(inputs), *self.network.input_shape)
        return np.asarray(self.network.cells_of(shaped), dtype=np.float64)


def _values(payload: object) -> AnyArray:
    if not isinstance(payload, Array):
        raise MissingFromViewError(f"a batch and its gradients must be arrays; got {type(payload).__name__}")
    return np.asarray(payload.values)
