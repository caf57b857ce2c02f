"""Horizontal linear regression by averaging whole models (Li et al. 2021, section 2.2).

In each round every party takes one step on its own rows and sends its weights; the server publishes their mean. With
secure aggregation the weights carry pairwise masks that cancel in the sum, so that only the mean is seen; without it
the server sees every party's weights (the multi-party case of section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.crypto.secure_aggregation import Words, opened_sum
from fedleak.protocols.actor import Actor
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.averaging.horizontal_training import (
    HorizontalSettings,
    RowMember,
    horizontal_facts,
    row_parties,
    train_on_rows,
)
from fedleak.protocols.averaging.secure_sum import Masker
from fedleak.protocols.usefulness import Usefulness, of_numbers


@dataclass(frozen=True)
class HorizontalLinearSettings(HorizontalSettings):
    batch_size: int = setting(
        0, "rows of a batch of the shuffled parties; 0 puts all into one", unit="rows", tells_less="more"
    )
    shuffled: tuple[str, ...] = setting((), "parties that draw a new mini-batch in every round; others use all rows")
    learning_rate: float = setting(
        0.1, "step size of a party's own step; the gradient is a mean over rows", tells_less="fewer"
    )
    secure_aggregation: bool = setting(
        True, "mask the weights so that the server sees their mean only", tells_less="other"
    )


class HorizontalLinear(Protocol):
    name = "horizontal-linear"
    aliases = ("hlinr",)
    summary = "horizontal linear regression, whole models averaged every round under pairwise masks"
    reference = Reference("li2021", "section 2.2")
    settings_type = HorizontalLinearSettings
    roles = frozenset({Role.ACTIVE, Role.SERVER})
    named_steps = frozenset(
        {
            steps.OWN_DATA,
            averaging.ROW_IDS,
            averaging.AGREEMENT_KEY,
            averaging.FIRST_MODEL,
            averaging.LOCAL_WEIGHTS,
            averaging.SENT_WEIGHTS,
            averaging.AVERAGED_WEIGHTS,
        }
    )
    may_reveal = frozenset(
        {
            Capability.AVERAGED_WEIGHTS,
            Capability.LINEAR_RESIDUAL,
            Capability.MODEL,
            Capability.OWN_FEATURES,
            Capability.OWN_WEIGHTS,
            Capability.LABELS,
            Capability.ALL_GRADIENTS,
        }
    )

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(HorizontalLinear.name, HorizontalLinearSettings, federation.settings)
        parties, server = row_parties(federation, settings.shuffled)
        weights = train_on_rows(
            parties,
            server,
            settings,
            join=lambda party, actor: AveragingMember(party, actor, _options(party, settings)),
            one_round=partial(_one_round, settings=settings),
            randomness=randomness,
            hooks=hooks,
            sink=sink,
        )
        captured = sink.finish(facts)
        model = _utility(parties, weights)
        return Run(captured.transcript, captured.locals, _truth(parties), model.figures, baselines=model.baselines)

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        given = settings_of(HorizontalLinear.name, HorizontalLinearSettings, settings)
        own = averaging.HorizontalLinearFacts(
            rounds=given.rounds, shuffled=given.shuffled, secure_aggregation=given.secure_aggregation
        )
        return horizontal_facts(cls.name, given, parties, n_rows, approximation="exact", own=own)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        found = frozenset({Capability.AVERAGED_WEIGHTS, Capability.LINEAR_RESIDUAL, Capability.MODEL})
        roles = {party.role for party in parties if party.name in coalition}
        if Role.ACTIVE in roles:
            found |= {Capability.OWN_FEATURES, Capability.OWN_WEIGHTS, Capability.LABELS}
        if Role.SERVER in roles and isinstance(settings, HorizontalLinearSettings) and not settings.secure_aggregation:
            found |= {Capability.ALL_GRADIENTS}
        return found


def _options(party: Party, settings: HorizontalLinearSettings) -> AveragingOptions:
    shuffled = party.name in settings.shuffled and settings.batch_size > 0
    return AveragingOptions(
        rate=settings.learning_rate,
        batch_size=min(settings.batch_size, len(party.train.ids)) if shuffled else None,
        fraction_bits=settings.fraction_bits,
        masked=settings.secure_aggregation,
    )


def _one_round(
    members: Sequence[AveragingMember], server: Actor, weights: FloatArray, settings: HorizontalLinearSettings
) -> FloatArray:
    received = {}
    for member in members:
        sent = member.actor.send(averaging.SENT_WEIGHTS, server, Array(member.contribution(weights)))
        received[member.actor.name] = np.asarray(sent.values, dtype=np.uint64)
    total = opened_sum(received, [member.actor.name for member in members], settings.fraction_bits)
    mean = server.compute(averaging.AVERAGED_WEIGHTS, total, lambda summed: summed / len(members))
    return server.publish(averaging.AVERAGED_WEIGHTS, Array(mean)).values


def _truth(parties: Sequence[Party]) -> Truth:
    return Truth(
        {
            Secret(SecretKind.FEATURES, party.name): SecretValues.spanning(
                party.train.ids, party.columns, party.train.features
            )
            for party in parties
        }
    )


def _utility(parties: Sequence[Party], weights: FloatArray) -> Usefulness:
    features = np.vstack([party.train.features for party in parties])
    labels = np.concatenate([np.asarray(party.train.labels, dtype=np.float64) for party in parties])
    return of_numbers("train", features @ weights, labels, trained_on=labels)


@dataclass(frozen=True)
class AveragingOptions:
    rate: float
    batch_size: int | None  # None: all rows in every round
    fraction_bits: int
    masked: bool


class AveragingMember(RowMember):
    """Steps on its own rows; its weights are averaged with the others'."""

    def __init__(self, party: Party, actor: Actor, options: AveragingOptions) -> None:
        assert party.train.labels is not None
        self._options = options
        self._ids = party.train.ids
        self._labels = np.asarray(party.train.labels, dtype=np.float64)
        super().__init__(party, actor, self._labels, Masker(actor, options.fraction_bits, active=options.masked))

    def introduce(self) -> None:
        """Publish how the rows are numbered, and the masking key."""
        self.actor.publish(averaging.ROW_IDS, Array(self._ids))
        self.masker.publish_key()

    def begin(self, weights: FloatArray) -> None:
        """Nothing to keep: the first model is public, and so are all later ones."""

    def contribution(self, weights: FloatArray) -> Words:
        """The party's weights after its own step, encoded and under its mask; its records hold what is under it."""
        actor = self.actor
        local = actor.compute(averaging.LOCAL_WEIGHTS, weights, self._own_step)
        sent = actor.outgoing(averaging.LOCAL_WEIGHTS, local)
        actor.record(averaging.LOCAL_WEIGHTS, averaging.OWN_WEIGHTS, Array(self.masker.rounded(sent)))
        return self.masker.mask(sent)

    def _own_step(self, weights: FloatArray) -> FloatArray:
        """W - rate X^T (X W - Y) / batch (eq. 6, with the mean over the batch)."""
        rows, labels = self.features, self._labels
        if self._options.batch_size is not None:
            chosen = self.actor.rng.permutation(len(rows))[: self._options.batch_size]
            rows, labels = rows[chosen], labels[chosen]
        return np.asarray(weights - self._options.rate * (rows.T @ (rows @ weights - labels)) / len(rows))
