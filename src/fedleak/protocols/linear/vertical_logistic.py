"""Vertical logistic regression without an arbiter: protocol 1 of Hu et al. 2022, in every direction.

Every party has a key pair of its own. For each ordered pair of parties, one encrypts its share of the linear score, the
other multiplies it with its features, masks the product and has it decrypted. With three or more parties the shares
carry pairwise masks that cancel in a receiver's sum, so that it learns its gradient and no partner's single term.

What additive encryption does not reach the parties compute on shares modulo 2^64: each opens its own gradient
(``opened_shares``), or nobody any (``shared_training``). Reports say which, and that the dealer of triples is ideal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core import steps
from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Federation, Settings, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.crypto.sharing_cost import WORD_BYTES
from fedleak.models.sigmoid import Approximation, residual
from fedleak.protocols.actor import start_round
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.encrypted_exchange import (
    ExchangeSettings,
    KeyedMember,
    encrypted_gradients,
    join,
    terms_of,
)
from fedleak.protocols.linear.linear_headroom import check_linear_headroom, check_shared_headroom
from fedleak.protocols.linear.linear_outcome import RoundLog, truth_of, utility
from fedleak.protocols.linear.linear_settings import (
    LOGISTIC,
    OF_A_MEMBER,
    linear_facts,
    member_capabilities,
)
from fedleak.protocols.linear.member import Member, all_members, batches, order_members
from fedleak.protocols.linear.opened_shares import OpenedShares, counted_openings
from fedleak.protocols.linear.shared_training import Arithmetic, SharedTraining, counted

APPROXIMATIONS = tuple(member.value for member in Approximation)
GRADIENTS = ("revealed", "secret-shared")
# What only parties whose gradients are opened have.
WITH_GRADIENTS = frozenset({Capability.OWN_GRADIENT, Capability.OWN_WEIGHTS, Capability.CIPHERTEXTS})
OPENED_NOTE = "gradients came about on shares modulo 2^64, triples from an ideal dealer; each party saw its own"
SHARED_NOTE = "trained on secret shares modulo 2^64, triples from an ideal dealer; nobody saw a gradient or a weight"


@dataclass(frozen=True)
class VerticalLogisticSettings(ExchangeSettings):
    approximation: str = setting(
        "taylor",
        "what stands for the sigmoid; what is beyond Paillier (piecewise; cubic of three parties and more) the parties "
        "compute on shares modulo 2^64",
        choices=APPROXIMATIONS,
        tells_less="other",
    )
    gradients: str = setting(
        "revealed",
        "revealed: each party sees its own; secret-shared: nobody does, the parties compute on shares modulo 2^64",
        choices=GRADIENTS,
        tells_less="other",
    )
    share_fraction_bits: int = setting(20, "fractional bits of numbers on shares", unit="bits")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("approximation", APPROXIMATIONS), ("gradients", GRADIENTS)):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}")
        if not 8 <= self.share_fraction_bits <= 28:
            raise InputError(f"share_fraction_bits must be from 8 to 28; got {self.share_fraction_bits}")

    def source(self, n_parties: int) -> str:
        """How gradients come about between so many parties, as reports say it."""
        if self.gradients == "secret-shared":
            return "secret-shared"
        terms = terms_of(Approximation(self.approximation), n_parties)
        return "opened-shares" if terms is None else "encrypted-exchange"

    @property
    def arithmetic(self) -> Arithmetic:
        """On shares."""
        return Arithmetic(Approximation(self.approximation), self.share_fraction_bits, self.learning_rate)


class VerticalLogistic(Protocol):
    name = "vertical-logistic"
    aliases = ("vlr",)
    summary = "vertical logistic regression, each party with its own key pair, no arbiter"
    reference = Reference("hu2022", "protocol 1")
    settings_type = VerticalLogisticSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE})
    named_steps = frozenset(
        {
            steps.OWN_DATA,
            linear.INITIALISE,
            linear.PUBLIC_KEY,
            linear.BATCH,
            linear.SHARED_SCORE,
            linear.ENCRYPTED_SCORE,
            linear.MULTIPLY,
            linear.MASKED_PRODUCT,
            linear.OPENED_PRODUCT,
            linear.UNMASK,
            linear.GRADIENT,
            linear.UPDATE,
            linear.SHARED_DATA,
            linear.DEALT,
            linear.OPENING,
            linear.GRADIENT_PART,
        }
    )
    may_reveal = OF_A_MEMBER | {Capability.LABELS, Capability.LINEAR_RESIDUAL}

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, VerticalLogisticSettings, federation.settings)
        active, passive = order_members(federation)
        parties = (active, *passive)
        members = all_members(parties, settings, randomness=randomness, hooks=hooks, sink=sink)
        ids = active.train.ids
        log = RoundLog([party.name for party in parties])
        rounds = _Rounds(members, settings, randomness.secret("pairs of parties", "zero shares"))
        order = randomness.public("batches")
        schedule = batches(len(ids), settings.batch_size, settings.epochs, settings.shuffle, order)
        for number, batch in enumerate(schedule):
            start_round([member.actor for member in members], number)
            members[0].actor.publish(linear.BATCH, Array(ids[batch]))
            log.add(number, ids[batch], *_true_values(members, batch, settings))
            rounds.run(batch)
        captured = sink.finish(facts)
        model = utility(parties, [member.weights for member in members])
        return Run(
            captured.transcript,
            captured.locals,
            truth_of(federation, log),
            model.figures,
            rounds.notes,
            baselines=model.baselines,
        )

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        given = settings_of(cls.name, VerticalLogisticSettings, settings)
        source = given.source(_count(parties))
        own = linear.VerticalLogisticFacts(
            shuffle=given.shuffle,
            residual=LOGISTIC.residual if given.approximation == Approximation.TAYLOR else None,
            gradients=source,
            pack_products=given.pack_products and source == "encrypted-exchange",
            **_sharing_cost(given, parties, n_rows),
        )
        found = linear_facts(cls.name, given, parties, n_rows, approximation=given.approximation, own=own)
        return found if source == "encrypted-exchange" else replace(found, fraction_bits=given.share_fraction_bits)

    @classmethod
    def check_headroom(cls, settings: Settings, facts: Facts) -> None:
        source = settings_of(cls.name, VerticalLogisticSettings, settings).source(_count(facts.parties))
        exchanged = source == "encrypted-exchange"
        (check_linear_headroom if exchanged else check_shared_headroom)(facts)

    @classmethod
    def reveals(
        cls,
        settings: Settings,
        parties: tuple[PartyFacts, ...],
        coalition: tuple[str, ...],
    ) -> frozenset[Capability]:
        found, source = member_capabilities(parties, coalition), "encrypted-exchange"
        if isinstance(settings, VerticalLogisticSettings):
            source = settings.source(_count(parties))
            if found and settings.approximation == Approximation.TAYLOR:
                found |= {Capability.LINEAR_RESIDUAL}
        hidden = {"secret-shared": WITH_GRADIENTS, "opened-shares": frozenset({Capability.CIPHERTEXTS})}
        return found - hidden.get(source, frozenset())


class _Rounds:
    """The rounds of one run, in the way that the settings ask for."""

    def __init__(
        self, members: Sequence[Member], settings: VerticalLogisticSettings, zero_rng: np.random.Generator
    ) -> None:
        self._members = members
        self._settings = settings
        self._zero_rng = zero_rng
        self._keyed: list[KeyedMember] = []
        self._shared: SharedTraining | None = None
        self._opened: OpenedShares | None = None
        source = settings.source(len(members))
        if source == "encrypted-exchange":
            self._keyed = [join(member, settings) for member in members]
        elif source == "secret-shared":
            self._shared = SharedTraining(members, settings.arithmetic)
        else:
            self._opened = OpenedShares(members, settings.arithmetic)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the gradients came about, for the report."""
        if self._shared is not None:
            return (f"{SHARED_NOTE}: {self._shared.cost}",)
        return () if self._opened is None else (f"{OPENED_NOTE}: {self._opened.cost}",)

    def run(self, batch: IntArray) -> None:
        if self._shared is not None:
            self._shared.run(batch)
            return
        for member, gradient in zip(self._members, self._gradients(batch), strict=True):
            member.update(gradient, self._settings.learning_rate)

    def _gradients(self, batch: IntArray) -> list[FloatArray]:
        if self._opened is not None:
            return self._opened.gradients(batch)
        terms = terms_of(Approximation(self._settings.approximation), len(self._members))
        assert terms is not None
        return encrypted_gradients(self._keyed, batch, self._settings, terms, self._zero_rng)


def _sharing_cost(
    settings: VerticalLogisticSettings, parties: tuple[PartyFacts, ...], n_rows: int | None
) -> dict[str, int]:
    """Facts of a training on shares, where its size is known."""
    known = [party.n_features for party in parties if party.n_features is not None]
    source = settings.source(_count(parties))
    if source == "encrypted-exchange" or n_rows is None or len(known) < len(parties):
        return {}
    how, opened = settings.arithmetic, {}
    if source == "secret-shared":
        found = counted(how, n_rows, sum(known), settings.batch_size, settings.epochs)
    else:
        found, n_bytes = counted_openings(how, n_rows, known, settings.batch_size, settings.epochs)
        opened = {"opened_bytes": n_bytes}
    words = {"dealt_bytes": WORD_BYTES * found.n_words}
    return {"shared_rounds": found.n_rounds, "shared_bytes": found.n_bytes, **opened, **words}


def _count(parties: Sequence[PartyFacts]) -> int:
    """Of those that have data."""
    return sum(party.role in DATA_ROLES for party in parties)


def _true_values(
    members: Sequence[Member], batch: IntArray, settings: VerticalLogisticSettings
) -> tuple[FloatArray, list[FloatArray]]:
    """The residuals of the batch, and every party's share of the scores."""
    scores = [member.score(batch) for member in members]
    signs = next(member.signs[batch] for member in members if member.signs is not None)
    total = sum(scores, np.zeros(len(batch)))
    return residual(total, signs, Approximation(settings.approximation)), scores
