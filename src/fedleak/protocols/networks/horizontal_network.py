"""A network trained on everybody's rows: FedSGD, where gradients go up, and FedAvg, where local steps do.

McMahan et al. 2017. The server sees each client's own gradient or update; nothing is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Texts
from fedleak.core.steps import OWN_DATA, Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import outputs_of, with_statistics
from fedleak.models.local_batch import loss_gradient
from fedleak.models.parameter_steps import ParameterSteps
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.network_outcome import truth_of, utility
from fedleak.protocols.networks.network_settings import (
    NetworkSettings,
    classes_of,
    drawn_network,
    input_shape_of,
    layers_of,
    network_facts,
    usual_layers,
    with_classes,
    with_scores,
)
from fedleak.protocols.networks.network_worker import Worker, arrays_in, batches_of, gradient_tree

GRADIENT, CHANGE = "gradient", "change"
UPDATES = (GRADIENT, CHANGE)


@dataclass(frozen=True)
class HorizontalNetworkSettings(NetworkSettings):
    layers: tuple[str, ...] = setting(
        (), 'layers before the last, which gives a score for each class, such as "linear 64"; none: the usual ones'
    )
    update: str = setting(
        GRADIENT,
        "what a client sends a round: the gradient of a batch (FedSGD), or the change after local_steps (FedAvg)",
        choices=UPDATES,
        tells_less="other",
    )
    local_steps: int = setting(
        1, "batches that a change is over, a step of gradient descent on each", unit="steps", tells_less="more"
    )
    known_batches: bool = setting(False, "the server knows which rows are in a client's batches", tells_less="other")

    def __post_init__(self) -> None:
        super().__post_init__()
        layers_of(self.layers, "layers")
        if self.update not in UPDATES:
            raise InputError(f"update must be one of {', '.join(UPDATES)}; got {self.update!r}")
        if self.local_steps < 1 or (self.local_steps > 1 and not self.changes):
            raise InputError(f'local_steps must be 1, or more with update = "change"; got {self.local_steps}')
        if self.changes and self.optimiser != "sgd":
            raise InputError(f'optimiser must be "sgd" with update = "change"; got {self.optimiser!r}')

    @property
    def changes(self) -> bool:
        return self.update == CHANGE


class HorizontalNetwork(Protocol):
    name = "horizontal-network"
    aliases = ("fedsgd", "fedavg")
    summary = (
        "a network trained on everybody's rows; the server gets each client's gradient (FedSGD) or update (FedAvg)"
    )
    reference = Reference("jin2021", "section 3.1, on horizontal federated learning")
    settings_type = HorizontalNetworkSettings
    roles = frozenset({Role.ACTIVE, Role.SERVER})
    shaped_cells = True
    named_steps = frozenset(
        {
            OWN_DATA,
            networks.ROW_IDS,
            networks.PARTICIPANTS,
            networks.NETWORK,
            networks.OWN_BATCH,
            networks.LAYER_GRADIENTS,
            networks.LAYER_UPDATES,
        }
    )
    may_reveal = frozenset(
        {
            Capability.OWN_FEATURES,
            Capability.LABELS,
            Capability.NETWORK,
            Capability.BATCH_IDS,
            Capability.LAYER_GRADIENTS,
            Capability.LAYER_UPDATES,
        }
    )

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, HorizontalNetworkSettings, federation.settings)
        parties, server_party = _members(federation)
        server = Actor(server_party.name, Role.SERVER, hooks, sink, randomness)
        actors = [Actor(party.name, party.role, hooks, sink, randomness) for party in parties]
        clients = [_Client(Worker(*both), settings) for both in zip(parties, actors, strict=True)]
        for client in clients:
            client.actor.publish(networks.ROW_IDS, Array(client.worker.party.train.ids))
        network = _first_network(parties, settings, server.rng)
        steps = ParameterSteps(settings.optimiser, _server_rate(settings))
        for number in range(settings.rounds):
            start_round([server, *actors], number)
            network = _one_round(server, clients, network, steps, settings)
        captured = sink.finish(facts)
        pooled = _pooled(parties)
        settled = with_statistics(network, network.inputs_of(pooled.train.features))
        useful = utility(pooled, [pooled], lambda held: _predicted(settled, held))
        truth = truth_of(parties, cut_by_columns=False)
        return Run(captured.transcript, captured.locals, truth, useful.figures, baselines=useful.baselines)

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        own = settings_of(cls.name, HorizontalNetworkSettings, settings)
        return network_facts(
            cls.name,
            own,
            parties,
            n_rows,
            bottom=own.layers or None,
            local_steps=own.local_steps if own.changes else 0,
            known_batches=own.known_batches,
        )

    @classmethod
    def with_data(cls, facts: Facts, federation: Federation) -> Facts:
        return with_classes(facts, federation)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        own = settings_of(cls.name, HorizontalNetworkSettings, settings)
        roles = {party.role for party in parties if party.name in coalition}
        found = {Capability.NETWORK}
        if Role.ACTIVE in roles:
            found |= {Capability.OWN_FEATURES, Capability.LABELS}
        if Role.SERVER in roles:
            found |= {Capability.LAYER_UPDATES if own.changes else Capability.LAYER_GRADIENTS}
            found |= {Capability.BATCH_IDS} if own.known_batches else set()
        return frozenset(found)


class _Client:
    """Deals its own rows into batches, and computes on them."""

    def __init__(self, worker: Worker, settings: HorizontalNetworkSettings) -> None:
        self.worker, self.actor, self._settings = worker, worker.actor, settings
        self._labels = classes_of(worker.party.train.labels, worker.name)
        self._batches = _without_end(len(self._labels), settings, worker.actor.rng)

    def sent(self, server: Actor, network: LayeredNetwork) -> Mapping[str, AnyArray]:
        """What the server takes in of the client's round."""
        settings = self._settings
        chosen = [next(self._batches) for _ in range(settings.local_steps)]
        ids = Array(self.worker.party.train.ids[np.stack(chosen)])
        self.actor.record(networks.OWN_BATCH, networks.BATCH_ROWS, ids)
        if settings.known_batches:
            self.actor.send(networks.OWN_BATCH, server, ids)
        if not settings.changes:
            batch = self.worker.begin(network, chosen[0])
            _, upstream = loss_gradient(batch.outputs, self._labels[chosen[0]])
            gradient = self.worker.gradients(batch, upstream)
            return arrays_in(self.actor.send(networks.LAYER_GRADIENTS, server, gradient))
        update = self.actor.compute(
            networks.LAYER_UPDATES, network, lambda given: gradient_tree(self._changed(given, chosen))
        )
        return arrays_in(self.actor.send(networks.LAYER_UPDATES, server, update))

    def _changed(self, network: LayeredNetwork, chosen: Sequence[IntArray]) -> dict[str, AnyArray]:
        """New less old after a step of gradient descent on each batch."""
        steps, local = ParameterSteps("sgd", self._settings.learning_rate), network
        for rows in chosen:
            batch = self.worker.begin(local, rows)
            _, upstream = loss_gradient(batch.outputs, self._labels[rows])
            local = local.with_parameters(steps.step(local.parameters, batch.back(upstream)))
        return {name: local.parameters[name] - network.parameters[name] for name in network.parameter_order}


def _one_round(
    server: Actor,
    clients: Sequence[_Client],
    network: LayeredNetwork,
    steps: ParameterSteps,
    settings: HorizontalNetworkSettings,
) -> LayeredNetwork:
    server.publish(networks.PARTICIPANTS, Texts(tuple(client.worker.name for client in clients)))
    if server.round == 0 or settings.trained:
        server.publish(networks.NETWORK, network.to_spec())
    found = [client.sent(server, network) for client in clients]
    if not settings.trained:
        return network
    means = {name: np.mean([one[name] for one in found], axis=0) for name in network.parameter_order}
    return network.with_parameters(steps.step(network.parameters, means))


def _server_rate(settings: HorizontalNetworkSettings) -> float:
    """Updates are added as they are: a step against them of rate -1."""
    return -1.0 if settings.changes else settings.learning_rate


def _without_end(n_rows: int, settings: NetworkSettings, rng: np.random.Generator) -> Iterator[IntArray]:
    """Batches of one size: where an epoch's last would be smaller, it is left out."""
    while True:
        yield from (rows for rows in batches_of(n_rows, settings, rng) if len(rows) == settings.batch_size)


def _members(federation: Federation) -> tuple[tuple[Party, ...], Party]:
    parties, servers = federation.with_role(Role.ACTIVE), federation.with_role(Role.SERVER)
    if not parties or len(servers) != 1:
        raise InputError(
            f"{federation.protocol} must have one or more active parties and one server; "
            f"got {len(parties)} and {len(servers)}"
        )
    for party in parties:
        if party.columns != parties[0].columns:
            raise InputError(f"columns of {party.name} must be those of {parties[0].name}, in the same order")
    return parties, servers[0]


def _first_network(
    parties: Sequence[Party], settings: HorizontalNetworkSettings, rng: np.random.Generator
) -> LayeredNetwork:
    shape = input_shape_of(parties[0].train.features)
    layers = layers_of(settings.layers or usual_layers(shape), "layers")
    largest = max(int(classes_of(party.train.labels, party.name).max()) for party in parties)
    return drawn_network(shape, with_scores(layers, max(2, largest + 1)), settings, rng)


def _pooled(parties: Sequence[Party]) -> Party:
    """All rows as if one party had them, for the accuracy alone."""
    first = parties[0]
    tests = [party.test for party in parties if party.test is not None and len(party.test.ids)]
    train = _joined([party.train for party in parties])
    return Party("all", Role.ACTIVE, first.columns, train, _joined(tests) if tests else None)


def _joined(slices: Sequence[Slice]) -> Slice:
    labels = [part.labels for part in slices if part.labels is not None]
    return Slice(
        np.concatenate([part.ids for part in slices]),
        np.concatenate([part.features for part in slices]),
        np.concatenate(labels),
    )


def _predicted(network: LayeredNetwork, held: Sequence[Slice]) -> IntArray:
    return np.asarray(np.argmax(outputs_of(network, network.inputs_of(held[0].features)), axis=1))
