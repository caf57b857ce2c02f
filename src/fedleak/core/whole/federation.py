"""The parties of a federation with their data, and the settings of the protocol that they run.

Settings are frozen dataclasses whose fields carry their own documentation: the scenario parser, the generated reference
page and the defenses all read these fields, so a setting exists in one place only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from fedleak.core.adversary import JOINT
from fedleak.core.arrays import AnyArray, FloatArray, IntArray, Value, freeze
from fedleak.core.described import meaning
from fedleak.core.errors import InputError
from fedleak.core.facts import PartyFacts
from fedleak.core.steps import Role
from fedleak.core.transcript import EVERYONE


@dataclass(frozen=True)
class Settings:
    """Base of every protocol's settings."""

    @property
    def ideal_choices(self) -> tuple[str, ...]:
        """Those in force that exist as ideal functionality alone, as ``key = "value"``."""
        found = [(one, getattr(self, one.name)) for one in fields(self)]
        return tuple(f'{one.name} = "{value}"' for one, value in found if value in one.metadata.get("ideal", ()))


SettingsT = TypeVar("SettingsT", bound=Settings)


def settings_of(protocol: str, kind: type[SettingsT], settings: Settings) -> SettingsT:
    """The settings as those of one protocol; an error where they belong to another."""
    if not isinstance(settings, kind):
        raise InputError(f"settings must be those of {protocol}; got {type(settings).__name__}")
    return settings


def setting(
    default: Any,
    about: str,
    *,
    unit: str = "",
    choices: tuple[str, ...] = (),
    tells_less: str = "",
    ideal: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with its meaning, unit and allowed values, and which way it may tell less."""
    described = meaning(about, unit=unit, choices=choices, tells_less=tells_less, ideal=ideal)
    return field(default=default, metadata=described)


@dataclass(frozen=True, eq=False)
class Slice(Value):
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
    population: FloatArray | None = None  # other rows of the same columns: ranges and kinds are theirs where there are

    @property
    def described_by(self) -> FloatArray:
        """The rows whose ranges and kinds are those of the columns."""
        return self.train.features if self.population is None else self.population

    @property
    def facts(self) -> PartyFacts:
        pictures = self.train.features.ndim > 2
        return PartyFacts(self.name, self.role, len(self.columns), n_rows=len(self.train.ids), pictures=pictures)


@dataclass(frozen=True, eq=False)
class Federation:
    protocol: str
    parties: tuple[Party, ...]
    settings: Settings
    max_row_norm: float | None = None  # what the preprocessing guarantees of whole rows, over all parties

    def __post_init__(self) -> None:
        if any(party.name in (JOINT, EVERYONE) for party in self.parties):
            raise InputError(
                f'a party must not be called "{JOINT}", which stands for everybody in messages and for nobody in '
                "particular as the owner of a secret; give it another name"
            )

    @property
    def party_facts(self) -> tuple[PartyFacts, ...]:
        return tuple(party.facts for party in self.parties)

    @property
    def n_rows(self) -> int:
        """Of training; of the largest party where parties hold rows of their own."""
        return max(len(party.train.ids) for party in self.parties)

    def party(self, name: str) -> Party:
        for party in self.parties:
            if party.name == name:
                return party
        raise InputError(f"party must be one of {[p.name for p in self.parties]}; got {name!r}")

    def with_role(self, role: Role) -> tuple[Party, ...]:
        return tuple(party for party in self.parties if party.role == role)

    def with_settings(self, **changes: object) -> Federation:
        return replace(self, settings=replace(self.settings, **changes))
