"""Dropout while the network is trained (Luo et al. 2021, section VII)."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.errors import InputError
from fedleak.core.federation import Federation
from fedleak.core.settings import setting


@dataclass(frozen=True)
class Dropout(Defense):
    name = "dropout"
    summary = "trains the network with dropout, so that it memorises less"
    reference = Reference("luo2021", "section VII, fig. 11e-f")
    changes = frozenset({"dropout"})

    share: float = setting(0.5, "share of the neurons of a hidden layer that are left out at a step", unit="0 to 1")

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"share of dropout must be above 0 and below 1; got {self.share}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(dropout=self.share)
