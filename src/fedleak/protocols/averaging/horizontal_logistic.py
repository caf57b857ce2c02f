"""Horizontal logistic regression with the quadratic loss and secure aggregation (Li et al. 2019, section 3.1).

In each round every party computes an update from its own rows, masks it and sends it to the server; the masks cancel
in the sum, whose mean the server publishes; everybody takes the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError, PlaintextRangeError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Scalar
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.crypto.fixed_point import encode
from fedleak.crypto.secure_aggregation import Words, decoded_total, opened_sum
from fedleak.protocols.actor import Actor
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.averaging.horizontal_training import (
    HorizontalLogisticSettings,
    RowMember,
    horizontal_facts,
    row_parties,
    train_on_rows,
)
from fedleak.protocols.averaging.record_truth import records_of, truth_of
from fedleak.protocols.averaging.recovering_sum import RecoveringMasker, begin_round, check_threshold, opener
from fedleak.protocols.averaging.secure_sum import Masker
from fedleak.protocols.usefulness import Usefulness, of_classes


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
            averaging.ROW_COUNT,
            averaging.AGREEMENT_KEY,
            averaging.FIRST_MODEL,
            averaging.LOCAL_UPDATE,
            averaging.ROUND_KEY,
            averaging.SEED_SHARES,
            averaging.MASKED_UPDATE,
            averaging.SENT_WEIGHTS,
            averaging.SENDERS,
            averaging.CONFIRMED_SENDERS,
            averaging.OPENED_SHARES,
            averaging.AGGREGATE,
        }
    )
    may_reveal = frozenset(
        {
            Capability.UPDATE_SUM,
            Capability.AVERAGED_WEIGHTS,
            Capability.SENDERS,
            Capability.OPENED_SHARES,
            Capability.MODEL,
            Capability.OWN_FEATURES,
            Capability.LABELS,
            Capability.TWO_CLASSES,
            Capability.ALL_GRADIENTS,
        }
    )

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(HorizontalLogistic.name, HorizontalLogisticSettings, federation.settings)
        parties, server = row_parties(federation, settings.shuffled, [lost.party for lost in settings.losses])
        if settings.recovery_threshold:
            check_threshold(settings.recovery_threshold, len(parties), settings.colluders)
        weights = train_on_rows(
            parties,
            server,
            settings,
            join=partial(RowHolder, settings=settings),
            one_round=partial(_one_round, settings=settings, first_rate=_known_rate(facts)),
            randomness=randomness,
            hooks=hooks,
            sink=sink,
        )
        captured = sink.finish(facts)
        model = utility(parties, weights)
        return Run(captured.transcript, captured.locals, truth_of(parties), model.figures, baselines=model.baselines)

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        given = settings_of(HorizontalLogistic.name, HorizontalLogisticSettings, settings)
        own = averaging.HorizontalLogisticFacts(
            rounds=given.rounds,
            shuffled=given.shuffled,
            secure_aggregation=given.secure_aggregation,
            update=given.update,
            rate_decay=given.rate_decay,
            dropouts=given.losses,
            recovery_threshold=given.recovery_threshold,
            confirm_senders=given.confirm_senders,
        )
        found = horizontal_facts(cls.name, given, parties, n_rows, approximation="taylor", own=own)
        n_columns = max((party.n_features or 0 for party in parties), default=0)
        return replace(found, learning_rate=given.first_rate(n_rows, n_columns))

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        """Everybody, the server too, sees the sum of all updates, and knows the model from it."""
        found = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS, Capability.MODEL})
        if any(party.role is Role.ACTIVE for party in parties if party.name in coalition):
            found |= {Capability.OWN_FEATURES, Capability.LABELS, Capability.TWO_CLASSES}
        if isinstance(settings, HorizontalLogisticSettings) and settings.recovery_threshold:
            found |= {Capability.SENDERS}
            if _has_server(parties, coalition):
                found |= {Capability.OPENED_SHARES}
        plain = isinstance(settings, HorizontalLogisticSettings) and not settings.secure_aggregation
        return found | {Capability.ALL_GRADIENTS} if plain and _has_server(parties, coalition) else found


def _has_server(parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]) -> bool:
    return any(party.role is Role.SERVER for party in parties if party.name in coalition)


def _known_rate(facts: Facts) -> float:
    if facts.learning_rate is None:
        raise InputError("learning_rate must be given where the number of rows is not known; got none")
    return facts.learning_rate


def _one_round(
    members: Sequence[RowHolder],
    server: Actor,
    weights: FloatArray,
    settings: HorizontalLogisticSettings,
    first_rate: float,
) -> FloatArray:
    rate = first_rate / (1 + settings.rate_decay * server.round)
    names = [member.actor.name for member in members]
    open_sum: Callable[[Mapping[str, Words]], FloatArray]
    if settings.recovery_threshold:
        open_sum = _recovering(members, server, settings)
    else:
        open_sum = partial(opened_sum, parties=names, fraction_bits=settings.fraction_bits)
    received = {}
    for member in members:
        if member.actor.name not in settings.lost_in(server.round):
            update = member.contribute(weights, rate)
            sends = member.send_masked if settings.secure_aggregation else partial(member.send_plain, weights)
            received[member.actor.name] = sends(server, update)
    total = server.compute(averaging.AGGREGATE, received, open_sum)
    mean = server.publish(averaging.AGGREGATE, Array(total / len(received)))
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


class RowHolder(RowMember):
    """Its actor, its rows, its labels as -1/+1, and its batches."""

    def __init__(self, party: Party, actor: Actor, settings: HorizontalLogisticSettings) -> None:
        labels = party.train.labels
        if labels is None or not np.isin(labels, (0, 1)).all():
            raise InputError(f"labels of {party.name} must be 0 or 1; set [data] positive to the class that is 1")
        super().__init__(party, actor, labels, _masker(actor, settings))
        self._settings = settings
        self.signs: FloatArray = 2.0 * labels - 1.0
        self.recovering: RecoveringMasker | None = None
        if settings.recovery_threshold:
            self.recovering = RecoveringMasker(
                actor,
                settings.fraction_bits,
                settings.recovery_threshold,
                self.masker.channels,
                confirms=settings.confirm_senders,
            )
        self._order: IntArray = actor.rng.permutation(len(self.features))

    def introduce(self) -> None:
        """Publish the number of rows and the masking key."""
        self.actor.publish(averaging.ROW_COUNT, Scalar(len(self.features)))
        self.masker.publish_key()

    def begin(self, weights: FloatArray) -> None:
        self.actor.record(averaging.FIRST_MODEL, averaging.FIRST_WEIGHTS, Array(weights))

    def contribute(self, weights: FloatArray, rate: float) -> Words:
        """The party's masked update of a round; its records hold what it put under the mask."""
        actor = self.actor
        update = actor.compute(averaging.LOCAL_UPDATE, weights, lambda start: self._local_update(start, rate))
        sent = actor.outgoing(averaging.LOCAL_UPDATE, update)
        try:
            actor.record(averaging.LOCAL_UPDATE, averaging.OWN_UPDATE, Array(self.masker.rounded(sent)))
            return (self.recovering or self.masker).mask(sent)
        except PlaintextRangeError:
            self._check_course(sent, rate)
            raise

    def send_masked(self, server: Actor, update: Words) -> Words:
        payload = self.actor.send(averaging.MASKED_UPDATE, server, Array(update))
        return np.asarray(payload.values, dtype=np.uint64)

    def send_plain(self, weights: FloatArray, server: Actor, update: Words) -> Words:
        """The weights after its own step, as averaging of whole models has it; the server takes the step off again."""
        bits = self._settings.fraction_bits
        sent = self.actor.send(averaging.SENT_WEIGHTS, server, Array(weights - decoded_total(update, bits)))
        return encode(weights - np.asarray(sent.values, dtype=np.float64), bits).astype(np.uint64)

    def _check_course(self, update: FloatArray, rate: float) -> None:
        """Where updates grow from round to round, the rate is what to change: steps on the quadratic loss shrink the
        error while rate · λ < 8 for the largest λ of XᵀX, which the sum of all squares bounds."""
        if not self.actor.round:
            return
        safe = 4 / max(float(np.square(self.features).sum()), np.finfo(np.float64).tiny)
        raise PlaintextRangeError(
            f"training must not diverge; got an update of {np.abs(update).max():g} from {self.actor.name} in round "
            f"{self.actor.round}, at a learning rate of {rate:g}. A learning_rate of {safe:.2g} is safe for its rows"
        )

    def batches(self) -> list[IntArray]:
        """Row positions of each of the party's batches, in the order in which it visits them."""
        if self.actor.name in self._settings.shuffled:
            self._order = self.actor.rng.permutation(len(self.features))
        size = self._settings.batch_size or len(self.features)
        return [self._order[start : start + size] for start in range(0, len(self._order), size)]

    def _local_update(self, start: FloatArray, rate: float) -> FloatArray:
        """Synchronised: λ times the gradient of one batch, the batches taking turns (section 3.2). Asynchronised: what
        a step on each batch in turn changes (section 3.3)."""
        batches = self.batches()
        if self._settings.update == averaging.SYNCHRONISED:
            batches = [batches[self.actor.round % len(batches)]]
        weights = start
        for batch in batches:
            weights = weights - rate * self._gradient(batch, weights)
        return start - weights

    def _gradient(self, batch: IntArray, weights: FloatArray) -> FloatArray:
        """∇ = XᵀXθ/4 − XᵀY/2 (section 3.1): of the loss log 2 − yθx/2 + (θx)²/8, summed over the rows."""
        rows = self.features[batch]
        gradient: FloatArray = rows.T @ (0.25 * (rows @ weights) - 0.5 * self.signs[batch])
        return gradient


def _masker(actor: Actor, settings: HorizontalLogisticSettings) -> Masker:
    return Masker(actor, settings.fraction_bits, active=settings.secure_aggregation)


def utility(parties: Sequence[Party], weights: FloatArray) -> Usefulness:
    """Share of rows on the right side of the decision boundary, where there are such rows."""
    trained_on = np.vstack([records_of(party.train) for party in parties])[:, -1] > 0
    found = Usefulness()
    for name, parts in (("train", [p.train for p in parties]), ("test", [p.test for p in parties])):
        rows = [records_of(part) for part in parts if part is not None and len(part.ids)]
        if rows:
            stacked = np.vstack(rows)
            found |= of_classes(name, stacked[:, :-1] @ weights > 0, stacked[:, -1] > 0, trained_on)
    return found
