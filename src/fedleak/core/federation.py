"""The parties of a federation with their data. Attacks may not import this module."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedleak.core.arrays import AnyArray, FloatArray, IntArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.facts import PartyFacts
from fedleak.core.settings import Settings
from fedleak.core.steps import Role


@dataclass(frozen=True, eq=False)
class Slice:
    """What a party holds of some rows: features of any shape (rows first), labels if it has them."""

    ids: IntArray
    features: FloatArray
    labels: AnyArray | None = None

    def __post_init__(self) -> None:
        if len(self.features) != len(self.ids):
            raise ValueError(f"Slice features must have a row an id; got {len(self.features)} for {len(self.ids)}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "features", freeze(self.features))
        if self.labels is not None:
            object.__setattr__(self, "labels", freeze(self.labels))


@dataclass(frozen=True, eq=False)
class Party:
    name: str
    role: Role
    columns: tuple[str, ...]
    train: Slice
    test: Slice | None = None  # rows held out from training, for the model's accuracy alone

    @property
    def facts(self) -> PartyFacts:
        return PartyFacts(self.name, self.role, len(self.columns), n_rows=len(self.train.ids))


@dataclass(frozen=True, eq=False)
class Federation:
    protocol: str
    parties: tuple[Party, ...]
    settings: Settings
    max_row_norm: float | None = None  # what the preprocessing guarantees of whole rows, over all parties

    def party(self, name: str) -> Party:
        for party in self.parties:
            if party.name == name:
                return party
        raise InputError(f"party must be one of {[p.name for p in self.parties]}; got {name!r}")

    def with_role(self, role: Role) -> tuple[Party, ...]:
        return tuple(party for party in self.parties if party.role == role)

    def with_settings(self, **changes: object) -> Federation:
        return replace(self, settings=replace(self.settings, **changes))
