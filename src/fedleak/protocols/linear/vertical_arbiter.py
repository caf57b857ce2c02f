"""Vertical linear and logistic regression with an arbiter that holds the only key pair, in the form of FATE 1.4.

The two differ in the rule of the residual. After training, each passive party may serve its partial scores in
plaintext.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from fedleak.core import steps
from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.core.whole.truth import Truth
from fedleak.crypto import CIPHERS
from fedleak.crypto.blinding import FRESH, NONE, SIGNED, check_blinding
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.arbiter_round import Arbiter, RoundSetting, one_round, true_residual
from fedleak.protocols.linear.linear_headroom import check_linear_headroom
from fedleak.protocols.linear.linear_outcome import RoundLog, regression_utility, truth_of, utility, weight_secrets
from fedleak.protocols.linear.linear_settings import (
    LINEAR,
    LOGISTIC,
    OF_A_MEMBER,
    ResidualRule,
    VerticalLinearSettings,
    linear_facts,
    member_capabilities,
)
from fedleak.protocols.linear.member import Member, all_members, batches, order_members
from fedleak.protocols.linear.partial_score_service import partial_score_services
from fedleak.protocols.usefulness import Usefulness

BLINDINGS = (FRESH, NONE, SIGNED)


@dataclass(frozen=True)
class VerticalArbiterSettings(VerticalLinearSettings):
    l2: float = setting(0.0, "weight of the squared norm of the weights in the loss", tells_less="more")
    decay: bool = setting(False, "divide the learning rate by sqrt(1 + epoch), as FATE does")
    loss: bool = setting(True, "send the encrypted loss to the arbiter (two data parties only)", tells_less="other")
    prediction_service: bool = setting(
        False,
        "answer the active party's queries on any rows with each passive party's partial score in plaintext",
        tells_less="other",
    )
    validate_every: int = setting(
        0,
        "after so many epochs each passive party sends its scores of all training rows in plaintext, as FATE does to "
        "validate on them; 0 for never",
        unit="epochs",
    )
    blinding: str = setting(
        FRESH,
        "randomness of encrypted scores and residuals: of each its own; none, or of each its own with the "
        "plaintext's sign beside it, faults that libraries had",
        choices=BLINDINGS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_blinding(self.blinding, self.cipher, BLINDINGS)
        if self.validate_every < 0:
            raise InputError(f"validate_every must be 0 or more; got {self.validate_every}")
        if not 0 <= self.l2 < inf:
            raise InputError(f"l2 must be 0 or more and finite; got {self.l2}")


class VerticalWithArbiter(Protocol):
    """What the protocols with an arbiter share; they differ in the rule of the residual."""

    rule: ClassVar[ResidualRule]
    binary_labels: ClassVar[bool]
    roles = frozenset({Role.ACTIVE, Role.PASSIVE, Role.ARBITER})
    named_steps = frozenset(
        {
            steps.OWN_DATA,
            linear.INITIALISE,
            linear.PUBLIC_KEY,
            linear.BATCH,
            linear.SHARED_SCORE,
            linear.ENCRYPTED_SCORE,
            linear.ENCRYPTED_RESIDUAL,
            linear.ENCRYPTED_GRADIENT,
            linear.ENCRYPTED_LOSS,
            linear.OPENED_GRADIENT,
            linear.GRADIENT,
            linear.UPDATE,
            linear.VALIDATION_SCORE,
            linear.PARTIAL_SCORE,
        }
    )
    may_reveal = OF_A_MEMBER | {
        Capability.LABELS,
        Capability.LINEAR_RESIDUAL,
        Capability.ALL_GRADIENTS,
        Capability.DECRYPTION_KEY,
        Capability.PREDICTION_SERVICE,
        Capability.VALIDATION_SCORES,
    }

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = _checked(federation, self.settings_type)
        active, passive = order_members(federation, binary=self.binary_labels)
        parties = (active, *passive)
        key = CIPHERS.get(settings.cipher)().generate(settings.key_bits)
        arbiter = Arbiter(Actor(_arbiter_name(federation), Role.ARBITER, hooks, sink, randomness), key)
        members = all_members(parties, settings, randomness=randomness, hooks=hooks, sink=sink)
        log = self._train(arbiter, members, settings, randomness.public("batches"))
        captured = sink.finish(facts)
        weights = [member.weights for member in members]
        found = {**truth_of(federation, log).secrets, **weight_secrets(parties, weights)}
        useful = self.utility(parties, weights)
        return Run(
            captured.transcript,
            captured.locals,
            Truth(found),
            useful.figures,
            services=partial_score_services(members) if settings.prediction_service else {},
            baselines=useful.baselines,
        )

    @classmethod
    def utility(cls, parties: Sequence[Party], weights: Sequence[FloatArray]) -> Usefulness:
        """How good the model is."""
        raise NotImplementedError

    def _train(
        self,
        arbiter: Arbiter,
        members: Sequence[Member],
        settings: VerticalArbiterSettings,
        order_rng: np.random.Generator,
    ) -> RoundLog:
        log = RoundLog([member.actor.name for member in members])
        ids = members[0].party.train.ids
        rounds_an_epoch = -(-len(ids) // settings.batch_size)
        schedule = batches(len(ids), settings.batch_size, settings.epochs, settings.shuffle, order_rng)
        for number, batch in enumerate(schedule):
            start_round([arbiter.actor, *(member.actor for member in members)], number)
            members[0].actor.publish(linear.BATCH, Array(ids[batch]))
            residual = true_residual(members, batch, self.rule)
            log.add(number, ids[batch], residual, [member.score(batch) for member in members])
            rate = settings.learning_rate
            if settings.decay:
                rate /= np.sqrt(1 + number // rounds_an_epoch)
            one_round(
                arbiter,
                members,
                batch,
                RoundSetting(self.rule, rate, settings.l2, settings.fraction_bits, settings.loss, settings.blinding),
            )
            if settings.validate_every and (number + 1) % (rounds_an_epoch * settings.validate_every) == 0:
                _validate(members)
        return log

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        given = settings_of(cls.name, VerticalArbiterSettings, settings)
        own = linear.ArbiterFacts(
            shuffle=given.shuffle,
            residual=cls.rule.residual,
            l2=given.l2,
            decay=given.decay,
            loss=given.loss,
            prediction_service=given.prediction_service,
            validate_every=given.validate_every,
            blinding=given.blinding,
        )
        return linear_facts(cls.name, given, parties, n_rows, approximation=cls.rule.approximation, own=own)

    @classmethod
    def check_headroom(cls, settings: Settings, facts: Facts) -> None:
        check_linear_headroom(facts)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        found = member_capabilities(parties, coalition)
        if not cls.binary_labels:
            found -= {Capability.TWO_CLASSES}
        found |= {Capability.LINEAR_RESIDUAL}
        roles = {party.role for party in parties if party.name in coalition}
        if Role.ARBITER in roles:
            found |= {Capability.ALL_GRADIENTS, Capability.BATCH_IDS, Capability.DECRYPTION_KEY}
        if Role.ACTIVE in roles and isinstance(settings, VerticalArbiterSettings) and settings.prediction_service:
            found |= {Capability.PREDICTION_SERVICE}
        if Role.ACTIVE in roles and isinstance(settings, VerticalArbiterSettings) and settings.validate_every:
            found |= {Capability.VALIDATION_SCORES}
        return found


def _validate(members: Sequence[Member]) -> None:
    """FATE scores training rows like any others: a partner's part of a score arrives in plaintext (its issue 1779)."""
    rows = np.arange(len(members[0].party.train.ids))
    for member in members[1:]:
        member.actor.send(linear.VALIDATION_SCORE, members[0].actor, Array(member.score(rows)))


def _checked(federation: Federation, settings_type: type[Settings]) -> VerticalArbiterSettings:
    settings = federation.settings
    if not isinstance(settings, VerticalArbiterSettings) or not isinstance(settings, settings_type):
        raise InputError(f"settings must be those of {federation.protocol}; got {type(settings).__name__}")
    return settings


def _arbiter_name(federation: Federation) -> str:
    names = [party.name for party in federation.with_role(Role.ARBITER)]
    if len(names) != 1:
        raise InputError(f"{federation.protocol} must have one arbiter; got {len(names)}")
    return names[0]


@dataclass(frozen=True)
class VerticalLinearArbiterSettings(VerticalArbiterSettings):
    pass


class VerticalLinearArbiter(VerticalWithArbiter):
    """The residual is score minus label (eq. 1 of Li et al. 2021)."""

    name = "vertical-linear-arbiter"
    aliases = ("hetero-linr",)
    summary = "vertical linear regression with an arbiter that holds the key (the form of FATE)"
    reference = Reference("li2021", "section 2.1")
    settings_type = VerticalLinearArbiterSettings
    rule = LINEAR
    binary_labels = False
    may_reveal = VerticalWithArbiter.may_reveal - {Capability.TWO_CLASSES}

    @classmethod
    def utility(cls, parties: Sequence[Party], weights: Sequence[FloatArray]) -> Usefulness:
        return regression_utility(parties, weights)


@dataclass(frozen=True)
class VerticalLogisticArbiterSettings(VerticalArbiterSettings):
    pass


class VerticalLogisticArbiter(VerticalWithArbiter):
    """The residual is the Taylor one, linear in the scores."""

    name = "vertical-logistic-arbiter"
    aliases = ("hetero-lr",)
    summary = "vertical logistic regression with an arbiter that holds the key (the form of FATE)"
    reference = Reference("li2021", "section 2.1")
    settings_type = VerticalLogisticArbiterSettings
    rule = LOGISTIC
    binary_labels = True

    @classmethod
    def utility(cls, parties: Sequence[Party], weights: Sequence[FloatArray]) -> Usefulness:
        return utility(parties, weights)
