"""What all horizontal training shares: its settings, who takes part, and the course from first model to last round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import inf
from typing import Any, TypeVar

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Table
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, setting
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Sink
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.averaging.secure_sum import Masker

UPDATES = (averaging.SYNCHRONISED, averaging.ASYNCHRONISED)
INITIALISATIONS = ("zero", "normal")
LARGEST_RATE = 0.01  # that is chosen where none is given


@dataclass(frozen=True)
class HorizontalSettings(Settings):
    """What horizontal training has in all of its protocols."""

    rounds: int = setting(60, "rounds of training", unit="rounds", tells_less="fewer")
    batch_size: int = setting(
        0, "rows of a party's batch; 0 puts all of its rows into one", unit="rows", tells_less="more"
    )
    learning_rate: float = setting(0.01, "step size; the gradient is a sum over rows, not a mean", tells_less="fewer")
    shuffled: tuple[str, ...] = setting((), "parties that deal their rows into batches anew in every round")
    initialisation: str = setting(
        "normal", "how the first weights are drawn", choices=INITIALISATIONS, tells_less="other"
    )
    fraction_bits: int = setting(40, "fractional bits of the fixed-point encoding", unit="bits")

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InputError(f"rounds must be 1 or more; got {self.rounds}")
        if self.batch_size < 0:
            raise InputError(f"batch_size must be 1 or more, or 0 for all rows; got {self.batch_size}")
        self._check_rate()
        if not 8 <= self.fraction_bits <= 52:
            raise InputError(f"fraction_bits must be from 8 to 52; got {self.fraction_bits}")
        if self.initialisation not in INITIALISATIONS:
            raise InputError(f"initialisation must be one of {', '.join(INITIALISATIONS)}; got {self.initialisation!r}")

    def _check_rate(self) -> None:
        if not 0 < self.learning_rate < inf:
            raise InputError(f"learning_rate must be above 0 and finite; got {self.learning_rate}")


@dataclass(frozen=True)
class HorizontalLogisticSettings(HorizontalSettings):
    learning_rate: float = setting(
        0.0,
        "step size; the gradient is a sum over rows, not a mean. 0 takes 0.01, or 4 / (rows of a batch x columns) "
        "where that is less, at which training does not diverge on columns whose mean square is up to 1",
        tells_less="fewer",
    )
    update: str = setting(
        averaging.SYNCHRONISED,
        "what a party sends a round: the gradient of one of its batches, or the change of the model after a local "
        "step on each of them",
        choices=UPDATES,
        tells_less="other",
    )
    secure_aggregation: bool = setting(
        True, "mask the updates so that the server sees their sum only", tells_less="other"
    )
    rate_decay: float = setting(0.0, "the rate of round t is learning_rate / (1 + rate_decay t)")
    recovery_threshold: int = setting(
        0, "parties that must send in a round for its sum to be opened; 0 deals no shares of seeds, and all must send"
    )
    colluders: int = setting(
        1, "parties that may side with a lying server: twice the recovery_threshold must be over all parties and these"
    )
    confirm_senders: bool = setting(
        True, "before shares are opened, parties confirm to one another whose updates the server says came in"
    )
    dropouts: tuple[str, ...] = setting((), 'who is lost in which round before it sends, such as "clinic:3"')

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.recovery_threshold < 0:
            raise InputError(f"recovery_threshold must be 0 or more; got {self.recovery_threshold}")
        if self.recovery_threshold and not self.secure_aggregation:
            raise InputError("recovery_threshold must be 0 without secure_aggregation: there is no mask to take off")
        if self.colluders < 0:
            raise InputError(f"colluders must be 0 or more; got {self.colluders}")
        for lost in self.losses:
            if lost.round >= self.rounds:
                raise InputError(f"dropouts must be in rounds 0 to {self.rounds - 1}; got {lost.party}:{lost.round}")
        if not 0 <= self.rate_decay < inf:
            raise InputError(f"rate_decay must be 0 or more and finite; got {self.rate_decay}")
        if self.update not in UPDATES:
            raise InputError(f"update must be one of {', '.join(UPDATES)}; got {self.update!r}")

    def _check_rate(self) -> None:
        if not 0 <= self.learning_rate < inf:
            raise InputError(f"learning_rate must be 0 or more and finite; got {self.learning_rate}")

    def first_rate(self, n_rows: int | None, n_columns: int | None) -> float | None:
        """Of the first round, by public sizes: a step on the quadratic loss shrinks the error while rate · λ < 8 for
        the largest λ of XᵀX, which the sum of all squares bounds. None where a size is not known."""
        if self.learning_rate:
            return self.learning_rate
        sizes = [size for size in (self.batch_size, n_rows) if size]
        return min(LARGEST_RATE, 4 / (min(sizes) * n_columns)) if sizes and n_columns else None

    def lost_in(self, round_number: int) -> frozenset[str]:
        """Parties that send nothing in a round."""
        return frozenset(lost.party for lost in self.losses if lost.round == round_number)

    @property
    def losses(self) -> tuple[averaging.Dropout, ...]:
        return tuple(map(_dropout, self.dropouts))


def _dropout(entry: str) -> averaging.Dropout:
    name, _, number = entry.rpartition(":")
    if not name or not number.isdecimal():
        raise InputError(f'dropouts must be parties and rounds, such as "clinic:3"; got {entry!r}')
    return averaging.Dropout(name, int(number))


def horizontal_facts(
    protocol: str,
    settings: HorizontalSettings,
    parties: tuple[PartyFacts, ...],
    n_rows: int | None,
    *,
    approximation: str,
    own: averaging.HorizontalFacts,
) -> Facts:
    """``n_rows`` is that of the largest party; a round is one update of the model, so rounds stand for epochs."""
    return Facts(
        protocol=protocol,
        parties=parties,
        n_rows=n_rows,
        batch_size=settings.batch_size or n_rows,
        n_epochs=None,
        learning_rate=settings.learning_rate,
        initialisation=settings.initialisation,
        approximation=approximation,
        fraction_bits=settings.fraction_bits,
        own=own,
    )


def row_parties(
    federation: Federation, shuffled: Sequence[str], lost: Sequence[str] = ()
) -> tuple[tuple[Party, ...], Party]:
    """The parties with rows and the server; or an error that says what is wrong."""
    parties, servers = federation.with_role(Role.ACTIVE), federation.with_role(Role.SERVER)
    if len(parties) < 2 or len(servers) != 1:
        raise InputError(
            f"{federation.protocol} must have two or more active parties and one server; "
            f"got {len(parties)} and {len(servers)}"
        )
    for party in parties:
        if party.columns != parties[0].columns:
            raise InputError(f"columns of {party.name} must be those of {parties[0].name}, in the same order")
        if not len(party.train.ids) or party.train.labels is None:
            raise InputError(f"{party.name} must hold at least one row with its label")
    names = {party.name for party in parties}
    for option, named in (("shuffled", shuffled), ("dropouts", lost)):
        for name in named:
            if name not in names:
                raise InputError(f"{option} must name active parties ({', '.join(sorted(names))}); got {name!r}")
    return parties, servers[0]


class RowMember(ABC):
    """A party that holds rows: its actor, its rows, its side of the secure sum."""

    def __init__(self, party: Party, actor: Actor, labels: AnyArray, masker: Masker) -> None:
        self.actor = actor
        self.masker = masker
        self.features: FloatArray = actor.take_in(steps.OWN_DATA, party.train.features)
        actor.record(steps.OWN_DATA, steps.FEATURES, Table(party.columns, party.train.ids, self.features))
        actor.record(steps.OWN_DATA, steps.LABELS, Table(("label",), party.train.ids, labels[:, None]))

    @abstractmethod
    def introduce(self) -> None:
        """Publish what everybody may know of the party, its masking key among it."""

    @abstractmethod
    def begin(self, weights: FloatArray) -> None:
        """Take the first model in."""


MemberT = TypeVar("MemberT", bound=RowMember)


def train_on_rows(
    parties: Sequence[Party],
    server_party: Party,
    settings: HorizontalSettings,
    *,
    join: Callable[[Party, Actor], MemberT],
    one_round: Callable[[Sequence[MemberT], Actor, FloatArray], FloatArray],
    randomness: Randomness,
    hooks: Sequence[Hook[Any]],
    sink: Sink,
) -> FloatArray:
    """From introductions and the server's first model to the weights after the last round."""
    server = Actor(server_party.name, Role.SERVER, hooks, sink, randomness)
    members = [join(party, Actor(party.name, party.role, hooks, sink, randomness)) for party in parties]
    for member in members:
        member.introduce()
    agree_on_masks([member.masker for member in members])
    weights = first_weights(server, settings.initialisation, len(parties[0].columns))
    for member in members:
        member.begin(weights)
    for number in range(settings.rounds):
        start_round([server, *(member.actor for member in members)], number)
        weights = one_round(members, server, weights)
    return weights


def agree_on_masks(maskers: Sequence[Masker]) -> None:
    """Every pair of parties derives its secret from the published keys."""
    for one, other in permutations(maskers, 2):
        one.agree_with(other)


def first_weights(server: Actor, initialisation: str, n_columns: int) -> FloatArray:
    drawn = server.rng.standard_normal(n_columns)  # drawn for every scheme, so that schemes share later randomness
    first = server.compute(
        averaging.FIRST_MODEL, n_columns, lambda width: drawn if initialisation == "normal" else np.zeros(width)
    )
    server.publish(averaging.FIRST_MODEL, Array(first))
    return first
