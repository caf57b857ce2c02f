"""A defense: one epoch, and no more."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense


@dataclass(frozen=True)
class ShortTraining(Defense):
    name = "short-training"
    summary = "ends training early"
    reference = Reference("sample2026", "section 2")
    changes = frozenset({"epochs"})

    epochs: int = setting(1, "epochs to train")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(epochs=self.epochs)
