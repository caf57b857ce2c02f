"""The model stays hidden; the active party gets confidences alone, or with explanations (section VII)."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.attack import Reference
from fedleak.core.defense import Defense
from fedleak.core.federation import Federation
from fedleak.core.settings import setting


@dataclass(frozen=True)
class HiddenModel(Defense):
    name = "hidden-model"
    summary = "keeps the model from the active party; explanations by contribution in its place if asked for"
    reference = Reference("luo2021", "section VII")
    changes = frozenset({"reveal"})

    explanations: bool = setting(False, "reveal what each column contributed to each prediction instead")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(reveal="contributions" if self.explanations else "nothing")
