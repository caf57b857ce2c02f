"""What really was: for metrics alone. Attacks may not import this module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray, freeze, read_only
from fedleak.core.errors import RunError
from fedleak.core.payload import ModelSpec, Table


@dataclass(frozen=True, eq=False)
class SecretValues:
    """The true cells of a secret: ``ids`` as in a guess, ``ranges`` the (low, high) of each column.

    ``sampled`` says which rows these are, where they are not all: a guess is then scored on them alone.
    """

    ids: IntArray
    columns: tuple[str, ...]
    values: FloatArray  # (rows, columns)
    ranges: FloatArray  # (columns, 2)
    sampled: str = ""

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.ids), len(self.columns)):
            raise ValueError(f"SecretValues must be {(len(self.ids), len(self.columns))}; got {self.values.shape}")
        if self.ranges.shape != (len(self.columns), 2):
            raise ValueError(f"SecretValues ranges must be {(len(self.columns), 2)}; got {self.ranges.shape}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "values", freeze(self.values))
        object.__setattr__(self, "ranges", freeze(self.ranges))


@dataclass(frozen=True, eq=False)
class Served:
    """The model that predicted the secret's rows, whole, with what went in and what came out.

    For metrics that judge a guess by what it does in the model, or beside what else the adversary sees.
    """

    model: ModelSpec
    inputs: Table  # all parties' columns, in the model's order
    confidences: FloatArray  # as released; a withheld row is NaN
    own: tuple[str, ...] = ()  # the adversary's columns among the inputs

    def __post_init__(self) -> None:
        if self.confidences.ndim != 2 or len(self.confidences) != len(self.inputs.ids):
            raise ValueError(f"Served confidences must have a row an input; got {self.confidences.shape}")
        object.__setattr__(self, "confidences", freeze(self.confidences))


KeptSecret = SecretValues | Callable[[], SecretValues]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is larger than the data it follows from is kept as the way to compute it, and computed when it is asked."""

    secrets: Mapping[Secret, KeptSecret]
    served: Served | None = None  # where a model was served
    complete: bool = True  # False for somebody else's run: what is not among the secrets cannot be checked

    def __post_init__(self) -> None:
        object.__setattr__(self, "secrets", read_only(self.secrets))

    def can_check(self, secret: Secret) -> bool:
        """A run of our own that lacks a secret is defective, and ``of`` says so; somebody else's just lacks it."""
        return self.complete or secret in self.secrets

    def of(self, secret: Secret) -> SecretValues:
        if secret not in self.secrets:
            raise RunError(f"the run kept no truth about {secret}; it has {[str(s) for s in self.secrets]}")
        kept = self.secrets[secret]
        return kept() if callable(kept) else kept

    def served_to(self, coalition: tuple[str, ...]) -> Served | None:
        """The predictions as this coalition met them: with its own columns named."""
        if self.served is None:
            return None
        features = [Secret(SecretKind.FEATURES, member) for member in coalition]
        held = [self.of(secret).columns for secret in features if secret in self.secrets]
        return replace(self.served, own=tuple(name for columns in held for name in columns))
