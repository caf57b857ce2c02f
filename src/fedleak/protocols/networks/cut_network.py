"""A network that is cut between parties: a bottom for what each of them holds of a row, and a top over all outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, Payload, Tree
from fedleak.core.whole.federation import Party, Slice
from fedleak.models.layered import LayeredNetwork, layered_of
from fedleak.models.layered_torch import outputs_of, with_statistics
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.network_settings import (
    CutSettings,
    drawn_network,
    input_shape_of,
    layers_of,
    usual_layers,
    with_scores,
)


@dataclass(frozen=True, eq=False)
class CutNetwork:
    """``bottoms`` in the order in which the top takes their outputs."""

    bottoms: Mapping[str, LayeredNetwork]
    top: LayeredNetwork

    @property
    def payload(self) -> Tree:
        bottoms = Tree({name: bottom.to_spec() for name, bottom in self.bottoms.items()})
        return Tree({networks.BOTTOMS: bottoms, networks.TOP: self.top.to_spec()})

    @classmethod
    def from_payload(cls, payload: Payload) -> CutNetwork:
        """As it was sent in a run of ours."""
        assert isinstance(payload, Tree)
        bottoms, top = payload.items[networks.BOTTOMS], payload.items[networks.TOP]
        assert isinstance(bottoms, Tree)
        return cls({name: _layered(spec) for name, spec in bottoms.items.items()}, _layered(top))

    def scores(self, held: Sequence[Slice]) -> FloatArray:
        """A score for each class, from what each owner of a bottom holds of rows."""
        return outputs_of(self.top, self._joined(held))

    def predict(self, held: Sequence[Slice]) -> IntArray:
        """The classes of rows."""
        return np.asarray(np.argmax(self.scores(held), axis=1))

    def settled(self, held: Sequence[Slice]) -> CutNetwork:
        """With the running statistics of these rows, which rounds do not collect."""
        parts = zip(self.bottoms.items(), held, strict=True)
        bottoms = {name: with_statistics(one, one.inputs_of(part.features)) for (name, one), part in parts}
        return CutNetwork(bottoms, with_statistics(self.top, CutNetwork(bottoms, self.top)._joined(held)))

    def _joined(self, held: Sequence[Slice]) -> FloatArray:
        parts = zip(self.bottoms.values(), held, strict=True)
        return np.hstack([outputs_of(bottom, bottom.inputs_of(part.features)) for bottom, part in parts])


def _layered(spec: Payload) -> LayeredNetwork:
    assert isinstance(spec, ModelSpec)
    return layered_of(spec)


def drawn_bottom(party: Party, settings: CutSettings, rng: np.random.Generator) -> LayeredNetwork:
    """Of its own columns or pixels; what it puts out must be a row of numbers."""
    shape = input_shape_of(party.train.features)
    found = drawn_network(shape, layers_of(settings.bottom or usual_layers(shape), "bottom"), settings, rng)
    if len(found.output_shape) != 1:
        raise InputError(f"bottom must end in numbers, not in a picture: add flatten; got {found.output_shape}")
    return found


def drawn_top(width: int, n_classes: int, settings: CutSettings, rng: np.random.Generator) -> LayeredNetwork:
    return drawn_network((width,), with_scores(layers_of(settings.top, "top"), n_classes), settings, rng)


def width_of(bottoms: Mapping[str, LayeredNetwork]) -> int:
    """Of all outputs side by side."""
    return sum(bottom.output_shape[0] for bottom in bottoms.values())
