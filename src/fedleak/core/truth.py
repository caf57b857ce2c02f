"""What really was: for metrics alone. Attacks may not import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fedleak.core.arrays import FloatArray, IntArray, freeze
from fedleak.core.errors import RunError
from fedleak.core.secret import Secret


@dataclass(frozen=True, eq=False)
class SecretValues:
    """The true cells of a secret: ``ids`` as in a guess, ``ranges`` the (low, high) of each column."""

    ids: IntArray
    columns: tuple[str, ...]
    values: FloatArray  # (rows, columns)
    ranges: FloatArray  # (columns, 2)

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.ids), len(self.columns)):
            raise ValueError(f"SecretValues must be {(len(self.ids), len(self.columns))}; got {self.values.shape}")
        if self.ranges.shape != (len(self.columns), 2):
            raise ValueError(f"SecretValues ranges must be {(len(self.columns), 2)}; got {self.ranges.shape}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "values", freeze(self.values))
        object.__setattr__(self, "ranges", freeze(self.ranges))


@dataclass(frozen=True, eq=False)
class Truth:
    secrets: Mapping[Secret, SecretValues]

    def __post_init__(self) -> None:
        object.__setattr__(self, "secrets", MappingProxyType(dict(self.secrets)))

    def of(self, secret: Secret) -> SecretValues:
        if secret not in self.secrets:
            raise RunError(f"the run kept no truth about {secret}; it has {[str(s) for s in self.secrets]}")
        return self.secrets[secret]
