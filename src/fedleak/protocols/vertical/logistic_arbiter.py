"""Vertical logistic regression with an arbiter: the residual is the Taylor one, linear in the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.federation import Party
from fedleak.protocols.vertical.outcome import utility
from fedleak.protocols.vertical.residual_rule import LOGISTIC
from fedleak.protocols.vertical.with_arbiter import VerticalArbiterSettings, VerticalWithArbiter


@dataclass(frozen=True)
class VerticalLogisticArbiterSettings(VerticalArbiterSettings):
    pass


class VerticalLogisticArbiter(VerticalWithArbiter):
    name = "vertical-logistic-arbiter"
    aliases = ("hetero-lr",)
    summary = "vertical logistic regression with an arbiter that holds the key (the form of FATE)"
    reference = Reference("li2021", "section 2.1")
    settings_type = VerticalLogisticArbiterSettings
    rule = LOGISTIC
    binary_labels = True

    @classmethod
    def utility(cls, parties: Sequence[Party], weights: Sequence[FloatArray]) -> Mapping[str, float]:
        return utility(parties, weights)
