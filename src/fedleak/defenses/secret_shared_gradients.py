"""Gradients that nobody opens (Hu et al. 2022, section 6, footnote)."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.federation import Federation


@dataclass(frozen=True)
class SecretSharedGradients(Defense):
    """Every party holds random shares of gradients and weights. Attacks that start from a gradient have nothing to
    see, and are skipped for that reason. Stands for a protocol of secure computation as an ideal functionality."""

    name = "secret-shared-gradients"
    summary = "keeps gradients and weights as secret shares, so that no party sees its own"
    reference = Reference("hu2022", "section 6")
    changes = frozenset({"gradients"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(gradients="secret-shared")
