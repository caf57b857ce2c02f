"""Vertical linear regression with an arbiter: the residual is score minus label (eq. 1 of Li et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.federation import Party
from fedleak.protocols.vertical.outcome import regression_utility
from fedleak.protocols.vertical.residual_rule import LINEAR
from fedleak.protocols.vertical.with_arbiter import VerticalArbiterSettings, VerticalWithArbiter


@dataclass(frozen=True)
class VerticalLinearArbiterSettings(VerticalArbiterSettings):
    pass


class VerticalLinearArbiter(VerticalWithArbiter):
    name = "vertical-linear-arbiter"
    aliases = ("hetero-linr",)
    summary = "vertical linear regression with an arbiter that holds the key (the form of FATE)"
    reference = Reference("li2021", "section 2.1")
    settings_type = VerticalLinearArbiterSettings
    rule = LINEAR
    binary_labels = False
    may_reveal = VerticalWithArbiter.may_reveal - {Capability.TWO_CLASSES}

    @classmethod
    def utility(cls, parties: Sequence[Party], weights: Sequence[FloatArray]) -> Mapping[str, float]:
        return regression_utility(parties, weights)
