"""A network cut by columns or pixels whose gradients go to a server: the setting of CAFE (Jin et al. 2021, 3.1).

Every worker holds its part of each row, and a bottom network for it; a top network takes the outputs of all bottoms,
side by side. The server keeps all parameters, chooses the batches, and gets the gradient of every layer over each
batch. What workers need of one another goes between them alone: outputs of bottoms to the holder of the labels, their
gradients back. The paper leaves open who holds the labels, the server or one of the workers: here a worker does, and a
server that has them too is that worker and the server together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedleak.core.adversary import Capability
from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array
from fedleak.core.steps import OWN_DATA, Role
from fedleak.core.whole.federation import Federation, Settings, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.models.parameter_steps import ParameterSteps
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.cut_network import CutNetwork, drawn_bottom, drawn_top, width_of
from fedleak.protocols.networks.embedding_exchange import EmbeddingExchange, column_holders
from fedleak.protocols.networks.network_outcome import truth_of, utility
from fedleak.protocols.networks.network_settings import (
    CutSettings,
    cut_facts,
    with_classes,
)
from fedleak.protocols.networks.network_worker import (
    Worker,
    arrays_in,
    batches_of,
    gradient_tree,
)

PUBLIC = frozenset({Capability.CUT_NETWORKS, Capability.BATCH_IDS})


class VerticalNetwork(Protocol):
    name = "vertical-network"
    aliases = ("vfl-network",)
    summary = "a network cut by columns or pixels; the server gets every layer's gradient over each batch (CAFE)"
    reference = Reference("jin2021", "section 3.1")
    settings_type = CutSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE, Role.SERVER})
    shaped_cells = True
    named_steps = frozenset(
        {
            OWN_DATA,
            networks.NETWORKS,
            networks.BATCH,
            networks.EMBEDDINGS,
            networks.EMBEDDING_GRADIENTS,
            networks.LAYER_GRADIENTS,
            networks.TOP_GRADIENTS,
        }
    )
    may_reveal = PUBLIC | {
        Capability.OWN_FEATURES,
        Capability.LABELS,
        Capability.LAYER_GRADIENTS,
        Capability.EMBEDDINGS,
        Capability.EMBEDDING_GRADIENTS,
    }

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, CutSettings, federation.settings)
        parties, servers = column_holders(federation), federation.with_role(Role.SERVER)
        if len(servers) != 1:
            raise InputError(f"{self.name} must have one server; got {len(servers)}")
        server = Actor(servers[0].name, Role.SERVER, hooks, sink, randomness)
        workers = [Worker(party, Actor(party.name, party.role, hooks, sink, randomness)) for party in parties]
        training = _Training(server, workers, settings)
        order = randomness.public("batches")
        for number, rows in enumerate(batches_of(len(training.exchange.ids), settings, order)):
            start_round([server, *(worker.actor for worker in workers)], number)
            training.run(rows)
        captured = sink.finish(facts)
        owners = [worker.party for worker in training.exchange.owners]
        network = training.network.settled([party.train for party in owners])
        useful = utility(training.exchange.holder.party, owners, network.predict)
        return Run(captured.transcript, captured.locals, truth_of(parties), useful.figures, baselines=useful.baselines)

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        return cut_facts(cls.name, settings_of(cls.name, CutSettings, settings), parties, n_rows)

    @classmethod
    def with_data(cls, facts: Facts, federation: Federation) -> Facts:
        return with_classes(facts, federation)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        members = [party for party in parties if party.name in coalition]
        found = set(PUBLIC)
        of_role = {
            Role.ACTIVE: {Capability.LABELS, Capability.EMBEDDINGS},
            Role.PASSIVE: {Capability.EMBEDDING_GRADIENTS},
            Role.SERVER: {Capability.LAYER_GRADIENTS},
        }
        for member in members:
            found |= of_role[member.role]
            found |= {Capability.OWN_FEATURES} if member.role is not Role.SERVER and member.n_features != 0 else set()
        return frozenset(found)


class _Training:
    """The server's parameters, and the course of one batch."""

    def __init__(self, server: Actor, workers: Sequence[Worker], settings: CutSettings) -> None:
        self._server, self._settings = server, settings
        self.exchange = EmbeddingExchange(workers)
        bottoms = {worker.name: drawn_bottom(worker.party, settings, server.rng) for worker in self.exchange.owners}
        top = drawn_top(width_of(bottoms), self.exchange.n_classes, settings, server.rng)
        self.network = CutNetwork(bottoms, top)
        self._steps = {name: _steps(settings) for name in bottoms}
        self._top_steps = _steps(settings)

    def run(self, rows: IntArray) -> None:
        self._server.publish(networks.BATCH, Array(self.exchange.ids[rows]))
        if self._server.round == 0 or self._settings.trained:
            self._server.publish(networks.NETWORKS, self.network.payload)
        exchanged = self.exchange.run(self.network, rows)
        found = {}
        for share in exchanged.shares:
            gradient = share.worker.gradients(share.batch, share.upstream)
            sent = share.worker.actor.send(networks.LAYER_GRADIENTS, self._server, gradient)
            found[share.worker.name] = arrays_in(sent)
        top = gradient_tree(exchanged.top_gradients)
        found_top = arrays_in(self.exchange.holder.actor.send(networks.TOP_GRADIENTS, self._server, top))
        if self._settings.trained:
            self._step(found, found_top)

    def _step(self, found: Mapping[str, Mapping[str, AnyArray]], found_top: Mapping[str, AnyArray]) -> None:
        bottoms = {
            name: bottom.with_parameters(self._steps[name].step(bottom.parameters, found[name]))
            for name, bottom in self.network.bottoms.items()
        }
        top = self.network.top
        stepped = top.with_parameters(self._top_steps.step(top.parameters, found_top))
        self.network = CutNetwork(bottoms, stepped)


def _steps(settings: CutSettings) -> ParameterSteps:
    return ParameterSteps(settings.optimiser, settings.learning_rate)
