"""Horizontal logistic regression with the quadratic loss and secure aggregation (Li et al. 2019, section 3.1).

In each round every party computes an update from its own rows, masks it and sends it to the server; the masks cancel
in the sum, whose mean the server publishes; everybody takes the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.federation import Federation
from fedleak.core.hooks import Hook
from fedleak.core.payload import Array
from fedleak.core.protocol import Protocol
from fedleak.core.run import Run
from fedleak.core.settings import Settings, settings_of
from fedleak.core.sink import Sink
from fedleak.core.steps import Role
from fedleak.crypto.secure_aggregation import Words, opened_sum
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.horizontal.member import RowHolder
from fedleak.protocols.horizontal.outcome import accuracy, truth_of
from fedleak.protocols.horizontal.recovery import begin_round, check_threshold, opener
from fedleak.protocols.horizontal.settings import HorizontalLogisticSettings
from fedleak.protocols.horizontal.setup import agree_on_masks, first_weights, row_parties


class HorizontalLogistic(Protocol):
    name = "horizontal-logistic"
    aliases = ("hlr",)
    summary = "horizontal logistic regression on a quadratic loss, updates summed under pairwise masks"
    reference = Reference("li2019", "section 3.1")
    settings_type = HorizontalLogisticSettings
    roles = frozenset({Role.ACTIVE, Role.SERVER})
    named_steps = frozenset(
        {
            steps.OWN_DATA,
            steps.ROW_COUNT,
            steps.AGREEMENT_KEY,
            steps.FIRST_MODEL,
            steps.LOCAL_UPDATE,
            steps.ROUND_KEY,
            steps.SEED_SHARES,
            steps.MASKED_UPDATE,
            steps.SENDERS,
            steps.OPENED_SHARES,
            steps.AGGREGATE,
        }
    )
    may_reveal = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS, Capability.MODEL})

    def run(self, federation: Federation, *, rng: np.random.Generator, hooks: Sequence[Hook[Any]], sink: Sink) -> Run:
        settings = settings_of(HorizontalLogistic.name, HorizontalLogisticSettings, federation.settings)
        parties, server_party = row_parties(federation, settings.shuffled, settings.ever_lost)
        if settings.recovery_threshold:
            check_threshold(settings.recovery_threshold, len(parties))
        server_rng, *party_rngs = rng.spawn(1 + len(parties))
        server = Actor(server_party.name, Role.SERVER, hooks, sink, server_rng)
        members = [
            RowHolder(party, Actor(party.name, party.role, hooks, sink, own), settings)
            for party, own in zip(parties, party_rngs, strict=True)
        ]
        for member in members:
            member.introduce()
        agree_on_masks([member.masker for member in members])
        weights = first_weights(server, settings.initialisation, len(parties[0].columns))
        for member in members:
            member.actor.record(steps.FIRST_MODEL, "weights", Array(weights))
        actors = [server, *(member.actor for member in members)]
        for number in range(settings.rounds):
            start_round(actors, number)
            weights = _one_round(members, server, weights, settings)
        counts = [len(party.train.ids) for party in parties]
        captured = sink.finish(self.facts(settings, tuple(party.facts for party in federation.parties), max(counts)))
        utility = {
            "train_accuracy": accuracy(parties, weights, test=False),
            "test_accuracy": accuracy(parties, weights, test=True),
        }
        measured = {name: value for name, value in utility.items() if value is not None}
        return Run(captured.transcript, captured.locals, truth_of(parties), measured)

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        """``n_rows`` is that of the largest party; a round is one update of the model, so epochs count rounds."""
        own = settings_of(HorizontalLogistic.name, HorizontalLogisticSettings, settings)
        return Facts(
            protocol=cls.name,
            parties=parties,
            n_rows=n_rows,
            batch_size=own.batch_size or n_rows,
            n_epochs=None,
            learning_rate=own.learning_rate,
            initialisation=own.initialisation,
            approximation="taylor",
            fraction_bits=own.fraction_bits,
            options={
                "update": own.update,
                "rounds": own.rounds,
                "batch_size": own.batch_size,
                "rate_decay": own.rate_decay,
                "shuffled": ",".join(own.shuffled),
                "dropouts": ",".join(own.dropouts),
            },
        )

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        """Everybody sees the sum of all updates, and knows the model from it; the server too."""
        return cls.may_reveal


def _one_round(
    members: Sequence[RowHolder], server: Actor, weights: FloatArray, settings: HorizontalLogisticSettings
) -> FloatArray:
    names = [member.actor.name for member in members]
    open_sum: Callable[[Mapping[str, Words]], FloatArray]
    if settings.recovery_threshold:
        open_sum = _recovering(members, server, settings)
    else:
        open_sum = partial(opened_sum, parties=names, fraction_bits=settings.fraction_bits)
    received = {}
    for member in members:
        if member.actor.name not in settings.lost_in(server.round):
            update = Array(member.contribute(weights, settings.rate(server.round)))
            payload = member.actor.send(steps.MASKED_UPDATE, server, update)
            received[member.actor.name] = np.asarray(payload.values, dtype=np.uint64)
    total = server.compute(steps.AGGREGATE, received, open_sum)
    mean = server.publish(steps.AGGREGATE, Array(total / len(received)))
    return weights - mean.values


def _recovering(
    members: Sequence[RowHolder], server: Actor, settings: HorizontalLogisticSettings
) -> Callable[[Mapping[str, Words]], FloatArray]:
    maskers = [member.recovering for member in members if member.recovering is not None]
    return opener(
        maskers,
        server,
        begin_round(maskers),
        threshold=settings.recovery_threshold,
        fraction_bits=settings.fraction_bits,
    )
