"""What can be said of a federation without running it: the input of every theorem and prediction.

Facts come from a scenario or from a view, so ``check`` and ``audit`` share one theory. ``None`` is
"unknown", and a theorem that needs the fact answers UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot
from typing import ClassVar, TypeVar

from fedleak.core.adversary import Capability
from fedleak.core.errors import InputError
from fedleak.core.steps import DATA_ROLES, Role

# What theory knows by name. ``EXACT``: a model without a sigmoid, whose residual is its score minus its label.
INITIALISATIONS = ("zero", "xavier", "kaiming", "normal")
SIGMOIDS = ("taylor", "cubic", "piecewise")
EXACT = "exact"


@dataclass(frozen=True)
class PartyFacts:
    name: str
    role: Role
    n_features: int | None = None
    score_noise: float | None = None  # where it is not what ``Facts`` has for all
    n_rows: int | None = None  # where parties hold rows of their own
    pictures: bool | None = None  # whether what it holds of a row is a picture, or columns


@dataclass(frozen=True)
class ProtocolFacts:
    """Base of what only one protocol, or one family of them, has to say; declared in its vocabulary.

    Every field is None by default, which is "unknown": where a protocol says nothing, ``kind()`` is what is known.
    """

    kind: ClassVar[str]  # on disk


OwnT = TypeVar("OwnT", bound=ProtocolFacts)


@dataclass(frozen=True)
class Facts:
    """What several families have; what one has alone is in ``own``."""

    protocol: str
    parties: tuple[PartyFacts, ...]
    n_rows: int | None = None  # of training; of the largest party where parties hold rows of their own
    batch_size: int | None = None
    n_epochs: int | None = None
    learning_rate: float | None = None
    initialisation: str | None = None
    approximation: str | None = None
    score_noise: float | None = 0.0  # standard deviation of noise on the scores that parties share; the largest of all
    max_row_norm: float | None = None  # a bound on the 2-norm of a whole row, over all parties
    cipher: str | None = None
    key_bits: int | None = None
    fraction_bits: int | None = None
    own: ProtocolFacts | None = None
    defense: str | None = None  # by name and parameters; what it changes of the other facts stands there
    adversary: tuple[str, ...] = ()
    capabilities: frozenset[Capability] | None = None  # of the adversary

    def of(self, kind: type[OwnT]) -> OwnT:
        """The protocol's own facts where they are of this kind, and nothing known where they are not."""
        return self.own if isinstance(self.own, kind) else kind()

    def with_own(self, kind: type[OwnT], **known: object) -> Facts:
        """The protocol's own facts with these among them."""
        if self.own is not None and not isinstance(self.own, kind):
            raise InputError(f"facts of {self.protocol} must be of kind {kind.kind}; got {self.own.kind}")
        return replace(self, own=replace(self.of(kind), **known))

    def party(self, name: str) -> PartyFacts:
        for party in self.parties:
            if party.name == name:
                return party
        raise InputError(f"party must be one of {[p.name for p in self.parties]}; got {name!r}")

    def with_role(self, role: Role) -> tuple[PartyFacts, ...]:
        return tuple(party for party in self.parties if party.role == role)

    def seen_by(self, adversary: tuple[str, ...], capabilities: frozenset[Capability] | None) -> Facts:
        return replace(self, adversary=adversary, capabilities=capabilities)

    def with_max_row_norm(self, bound: float | None) -> Facts:
        return replace(self, max_row_norm=bound)

    def with_score_noise(self, levels: Mapping[str, float]) -> Facts:
        """Noise on the scores that these parties share, and none on those of the others."""
        parties = tuple(replace(party, score_noise=levels.get(party.name, 0.0)) for party in self.parties)
        return replace(self, parties=parties, score_noise=max(levels.values(), default=0.0))

    @property
    def deviating(self) -> str | None:
        """Who deviates where a coalition does: its first member that holds data. An arbiter has no columns to add."""
        return next((name for name in self.adversary if self.party(name).role in DATA_ROLES), None)

    @property
    def outside_noise(self) -> float | None:
        """Deviation of the noise in the sum of all scores from outside: what the adversary cannot take off."""
        return self._noise([party for party in self.parties if party.name not in self.adversary])

    @property
    def own_noise(self) -> float | None:
        """The same for the coalition's own scores."""
        return self._noise([party for party in self.parties if party.name in self.adversary])

    def _noise(self, parties: Sequence[PartyFacts]) -> float | None:
        levels = [
            self.score_noise if party.score_noise is None else party.score_noise
            for party in parties
            if party.role in DATA_ROLES
        ]
        known = [level for level in levels if level is not None]
        return hypot(*known) if len(known) == len(levels) else None

    @property
    def n_rounds(self) -> int | None:
        """Mini-batches of the whole training."""
        if self.n_rows is None or self.batch_size is None or self.n_epochs is None:
            return None
        return self.n_epochs * -(-self.n_rows // self.batch_size)

    @property
    def n_adversary_features(self) -> int | None:
        """Columns that the coalition holds together; unknown if any member's count is."""
        counts = [self.party(name).n_features for name in self.adversary if self.party(name).role in DATA_ROLES]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def n_features(self) -> int | None:
        counts = [party.n_features for party in self.parties if party.role in DATA_ROLES]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None
