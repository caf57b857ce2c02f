"""Whether captured networks are networks, and captured gradients theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.payload import Array, ModelSpec, Payload, Tree
from fedleak.core.transcript import Message
from fedleak.core.whole.run import Captured
from fedleak.models.layered import LayeredNetwork, layered_of
from fedleak.protocols.networks import vocabulary as networks

STEPS = frozenset(
    step.name for step in (networks.NETWORK, networks.NETWORKS, networks.LAYER_GRADIENTS, networks.LAYER_UPDATES)
)


WHOLE = ""  # no party's name


def networks_in(captured: Captured) -> dict[str, LayeredNetwork]:
    """By party, the last bottom that was sent; the whole network under no party's name."""
    sent = (networks.NETWORK.name, networks.NETWORKS.name)
    found = [dict(_networks(message)) for message in captured.transcript.messages if message.step in sent]
    return {party: network for one in found for party, network in one.items()}


def check_networks(captured: Captured, path: Path) -> None:
    """A gradient is held against the last network before it: the whole one, or its sender's bottom."""
    known: dict[str, LayeredNetwork] = {}
    for message in captured.transcript.messages:
        if message.step not in STEPS:
            continue
        try:
            if message.step in (networks.NETWORK.name, networks.NETWORKS.name):
                known |= dict(_networks(message))
            else:
                _check_gradient(message, known.get(message.sender, known.get(WHOLE)))
        except InputError as error:
            raise FileFormatError(f"{path}: {message.step} in round {message.round}: {error}") from error


def _networks(message: Message) -> Iterator[tuple[str, LayeredNetwork]]:
    if message.step == networks.NETWORK.name:
        yield WHOLE, _network(message.payload)
        return
    parts = message.payload.items if isinstance(message.payload, Tree) else {}
    bottoms = parts.get(networks.BOTTOMS)
    if set(parts) != {networks.BOTTOMS, networks.TOP} or not isinstance(bottoms, Tree):
        raise InputError(f"it must be a Tree of {networks.BOTTOMS}, by party, and {networks.TOP}; got {sorted(parts)}")
    _network(parts[networks.TOP])
    for party, bottom in bottoms.items.items():
        yield party, _network(bottom)


def _network(payload: Payload) -> LayeredNetwork:
    if not isinstance(payload, ModelSpec):
        raise InputError(f"a network must be a ModelSpec; got {type(payload).__name__}")
    return layered_of(payload)


def _check_gradient(message: Message, network: LayeredNetwork | None) -> None:
    if network is None:
        raise InputError(f"it must come after a network of {message.sender}; there is none before it")
    items = message.payload.items if isinstance(message.payload, Tree) else {}
    found = {name: item.values.shape for name, item in items.items() if isinstance(item, Array)}
    wanted = {name: network.parameters[name].shape for name in network.parameter_order}
    if found != wanted:
        name = next(iter([*(wanted.keys() ^ found.keys()), *(one for one in wanted if found.get(one) != wanted[one])]))
        raise InputError(
            f"it must have an array for every parameter, of its shape; {name[:80]!r} must be {wanted.get(name)}, "
            f"got {found.get(name)}"
        )
