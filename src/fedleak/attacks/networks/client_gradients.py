"""The gradients that one client sent, each with the network that it is of, and its rows' ids where they are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray, Value
from fedleak.core.payload import Array, ModelSpec, Tree
from fedleak.core.view import View
from fedleak.models.layered import LayeredNetwork, layered_of
from fedleak.protocols.networks.vocabulary import LAYER_GRADIENTS, NETWORK, OWN_BATCH


@dataclass(frozen=True, eq=False)
class ClientGradient(Value):
    round: int
    network: LayeredNetwork
    values: dict[str, FloatArray]  # float64, whatever was sent
    epsilon: float  # relative rounding of what was sent
    ids: IntArray | None
    n_rows: int | None  # of the batch, where it is known


def client_gradients(view: View, owner: str) -> Iterator[ClientGradient]:
    """In the order of the rounds; one at a time is in memory."""
    told = {
        message.round: message.payload.values.reshape(-1)
        for message in view.at(OWN_BATCH)
        if message.sender == owner and isinstance(message.payload, Array)
    }
    networks = {
        message.round: message.payload for message in view.at(NETWORK) if isinstance(message.payload, ModelSpec)
    }
    for message in view.at(LAYER_GRADIENTS):
        before = [networks[number] for number in sorted(networks) if number <= message.round]
        if message.sender != owner or not isinstance(message.payload, Tree) or not before:
            continue
        ids = told.get(message.round)
        size = len(ids) if ids is not None else view.facts.batch_size
        yield ClientGradient(message.round, layered_of(before[-1]), *_values(message.payload), ids, size)


def _values(sent: Tree) -> tuple[dict[str, FloatArray], float]:
    arrays = {name: part.values for name, part in sent.items.items() if isinstance(part, Array)}
    coarse = any(array.dtype != np.float64 for array in arrays.values())
    return {name: np.asarray(array, np.float64) for name, array in arrays.items()}, 2.0**-24 if coarse else 2.0**-53
