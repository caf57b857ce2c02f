"""Figure 4: the credit data, by initialisation."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.core.attack import Reference
from fedleak.papers.experiment import Panel, Row
from fedleak.papers.hu2022.curves import panel
from fedleak.papers.hu2022.defended import UNIT_NORM, Case, DefendedTraining
from fedleak.papers.hu2022.figures import EPSILONS


class Fig4(DefendedTraining):
    name = "hu2022/fig4"
    summary = "accuracy, success of the label attack and norm of the weights on credit default, by initialisation"
    reference = Reference("hu2022", "figure 4")
    data = "credit"
    figures = ("train_accuracy", "test_accuracy", "success", "weight_norm")

    def cases(self) -> list[Case]:
        return [
            Case(start, epsilon, unit_norm=unit)
            for unit in (False, True)
            for start in ("zero", "xavier", "kaiming")
            for epsilon in (None, *EPSILONS)
        ]

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        """At the paper's scale, standardised (the quick run has only rows of norm up to 1), without and with noise."""
        scaled = [row for row in rows if row.setting["rows"] != UNIT_NORM] or list(rows)
        chosen = [row for row in scaled if row.setting["epsilon"] in (None, 0.5)]
        return tuple(
            panel(chosen, figure, figure.replace("_", " "), ("initialisation", "epsilon"))
            for figure in ("test_accuracy", "success", "weight_norm")
        )
