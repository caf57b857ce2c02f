"""First weights of order one (Hu et al. 2022, section 4, "large random initialisation")."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.federation import Federation


@dataclass(frozen=True)
class LargeInitialisation(Defense):
    """Scores then drown the label in a residual's sign. Efficiency is traded for privacy, as the paper says."""

    name = "large-initialisation"
    summary = "draws the first weights from the standard normal distribution"
    reference = Reference("hu2022", "section 4")
    changes = frozenset({"initialisation"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(initialisation="normal")
