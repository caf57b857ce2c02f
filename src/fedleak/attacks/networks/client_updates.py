"""The updates that one client sent after local steps, as sums of the gradients that it stepped by.

Steps of plain gradient descent at a known rate: new less old is -rate times the sum of the gradients, each at the
parameters that the steps before it left. What is subtracted are parameters in floating point, and every step rounds
them anew: an update is known to the spacing of its parameters, however small it is itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray, Value
from fedleak.core.payload import Array, ModelSpec, Tree
from fedleak.core.view import View
from fedleak.models.layered import LayeredNetwork, layered_of
from fedleak.protocols.networks.vocabulary import LAYER_UPDATES, NETWORK, OWN_BATCH, NetworkFacts

CARRIED = 8.0  # roundings that a sum of products has gathered, of the size of its row
OWN = 2.0**-46  # of a row's size: what computing it again in float64 adds


@dataclass(frozen=True, eq=False)
class ClientUpdate(Value):
    """``sums``: -update / rate, float64; ``noise``: the deviation that rounding gave each number of them."""

    round: int
    network: LayeredNetwork
    sums: dict[str, FloatArray]
    noise: dict[str, FloatArray]
    rate: float
    n_steps: int
    batch_size: int
    ids: IntArray | None  # (steps, batch), where they are told


def client_updates(view: View, owner: str) -> Iterator[ClientUpdate]:
    """In the order of the rounds; those whose rate, steps or batch size nobody tells are left out."""
    told = {
        message.round: np.atleast_2d(message.payload.values)
        for message in view.at(OWN_BATCH)
        if message.sender == owner and isinstance(message.payload, Array)
    }
    networks = {
        message.round: message.payload for message in view.at(NETWORK) if isinstance(message.payload, ModelSpec)
    }
    rate = view.facts.learning_rate
    for message in view.at(LAYER_UPDATES):
        before = [networks[number] for number in sorted(networks) if number <= message.round]
        ids = told.get(message.round)
        n_steps, size = (
            ids.shape if ids is not None else (view.facts.of(NetworkFacts).local_steps, view.facts.batch_size)
        )
        if message.sender != owner or not isinstance(message.payload, Tree) or not before:
            continue
        network, update = layered_of(before[-1]), _arrays(message.payload)
        if rate and n_steps and size and set(network.parameter_order) <= set(update):
            sums, noise = summed(network, update, rate, n_steps)
            yield ClientUpdate(message.round, network, sums, noise, rate, n_steps, size, ids)


def summed(
    network: LayeredNetwork, update: Mapping[str, AnyArray], rate: float, n_steps: int
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """The sums of gradients behind an update, and how far rounding lets each number of them be off."""
    sums = {name: np.asarray(update[name], np.float64) / -rate for name in network.parameter_order}
    noise = {}
    for name, seen in sums.items():
        spacing = _spacing(network.parameters[name], update[name])
        coarse = 2.0**-24 if network.parameters[name].dtype.itemsize < 8 or update[name].dtype.itemsize < 8 else 0.0
        size = np.sqrt((seen**2).mean(axis=-1, keepdims=True))
        # a step rounds evenly within a spacing: deviation 1/sqrt(12) of it, independent from step to step
        noise[name] = np.hypot(np.sqrt(n_steps / 12) * spacing / rate, (CARRIED * coarse + OWN) * size + 1e-300)
    return sums, noise


def _spacing(parameter: AnyArray, update: AnyArray) -> FloatArray:
    """Between neighbouring numbers, where the parameter was and where it came to."""
    after = (parameter.astype(np.float64) + update).astype(parameter.dtype)
    return np.asarray(np.maximum(np.spacing(np.abs(parameter)), np.spacing(np.abs(after))), np.float64)


def _arrays(sent: Tree) -> dict[str, AnyArray]:
    return {name: part.values for name, part in sent.items.items() if isinstance(part, Array)}
