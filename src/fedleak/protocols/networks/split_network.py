"""A split network: embeddings go up, their gradients come down, and weights never leave their party.

What frameworks for vertical federated networks run (split learning; Gupta and Raskar 2018, Vepakomma et al. 2018):
each party trains its own bottom on the gradient that it receives, the holder of the labels the top and its own bottom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedleak.core.adversary import Capability
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array
from fedleak.core.steps import OWN_DATA, Role, Step
from fedleak.core.whole.federation import Federation, Settings, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.models.parameter_steps import ParameterSteps
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.cut_network import CutNetwork, drawn_bottom, drawn_top, width_of
from fedleak.protocols.networks.embedding_exchange import EmbeddingExchange, Exchanged, column_holders
from fedleak.protocols.networks.network_outcome import truth_of, utility
from fedleak.protocols.networks.network_settings import CutSettings, cut_facts, with_classes
from fedleak.protocols.networks.network_worker import Worker, batches_of


class SplitNetwork(Protocol):
    name = "split-network"
    aliases = ("splitnn",)
    summary = "a split network: embeddings go up, their gradients come down, weights stay at home"
    reference = Reference("jin2021", "section 3.1, by what stays at home")
    settings_type = CutSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})
    shaped_cells = True
    named_steps = frozenset(
        {
            OWN_DATA,
            networks.BATCH,
            networks.EMBEDDINGS,
            networks.EMBEDDING_GRADIENTS,
            networks.OWN_STEP,
            networks.FINISHED,
        }
    )
    may_reveal = frozenset(
        {
            Capability.OWN_FEATURES,
            Capability.OWN_NETWORK,
            Capability.LABELS,
            Capability.BATCH_IDS,
            Capability.EMBEDDINGS,
            Capability.EMBEDDING_GRADIENTS,
        }
    )

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, CutSettings, federation.settings)
        parties = column_holders(federation)
        workers = [Worker(party, Actor(party.name, party.role, hooks, sink, randomness)) for party in parties]
        training = _Training(workers, settings)
        order = randomness.public("batches")
        for number, rows in enumerate(batches_of(len(training.exchange.ids), settings, order)):
            start_round([worker.actor for worker in workers], number)
            training.run(rows)
        training.keep(networks.FINISHED)
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
        found = {Capability.BATCH_IDS}
        for member in members:
            active = member.role is Role.ACTIVE
            found |= {Capability.LABELS, Capability.EMBEDDINGS} if active else {Capability.EMBEDDING_GRADIENTS}
            found |= {Capability.OWN_FEATURES, Capability.OWN_NETWORK} if member.n_features != 0 else set()
        return frozenset(found)


class _Training:
    """Every party draws its own first parameters, and steps by itself."""

    def __init__(self, workers: Sequence[Worker], settings: CutSettings) -> None:
        self._settings = settings
        self.exchange = EmbeddingExchange(workers)
        owners, holder = self.exchange.owners, self.exchange.holder
        bottoms = {worker.name: drawn_bottom(worker.party, settings, worker.actor.rng) for worker in owners}
        top = drawn_top(width_of(bottoms), self.exchange.n_classes, settings, holder.actor.rng)
        self.network = CutNetwork(bottoms, top)
        self._steps = {name: ParameterSteps(settings.optimiser, settings.learning_rate) for name in bottoms}
        self._top_steps = ParameterSteps(settings.optimiser, settings.learning_rate)

    def run(self, rows: IntArray) -> None:
        holder = self.exchange.holder.actor
        holder.publish(networks.BATCH, Array(self.exchange.ids[rows]))
        if holder.round == 0 or self._settings.trained:
            self.keep(networks.OWN_STEP)
        exchanged = self.exchange.run(self.network, rows)
        if self._settings.trained:
            self._step(exchanged)

    def keep(self, step: Step[Any]) -> None:
        """Everybody's own part of the network, as it is before a round or at the end."""
        for worker in self.exchange.owners:
            worker.actor.record(step, networks.BOTTOM_NETWORK, self.network.bottoms[worker.name].to_spec())
        self.exchange.holder.actor.record(step, networks.TOP_NETWORK, self.network.top.to_spec())

    def _step(self, exchanged: Exchanged) -> None:
        bottoms = {}
        for share in exchanged.shares:
            name, bottom = share.worker.name, share.batch.network
            gradients = share.worker.own_step(share.batch, share.upstream)
            bottoms[name] = bottom.with_parameters(self._steps[name].step(bottom.parameters, gradients))
        top = self.network.top
        stepped = top.with_parameters(self._top_steps.step(top.parameters, exchanged.top_gradients))
        self.network = CutNetwork(bottoms, stepped)
