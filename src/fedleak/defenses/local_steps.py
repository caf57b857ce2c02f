"""Several local steps a round (Li et al. 2019, section 4.2): the update is no longer linear in the batches' data."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.errors import InputError
from fedleak.core.federation import Federation
from fedleak.core.settings import setting


@dataclass(frozen=True)
class LocalSteps(Defense):
    name = "local-steps"
    aliases = ("asynchronous-updates",)
    summary = "sends the change after a local step on each batch instead of a gradient; helps only with large steps"
    reference = Reference("li2019", "section 4.2")
    changes = frozenset({"update", "learning_rate"})

    learning_rate: float = setting(0.1, "the local step size; small ones do not protect")

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate of local-steps must be above 0; got {self.learning_rate}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(update="asynchronised", learning_rate=self.learning_rate)
