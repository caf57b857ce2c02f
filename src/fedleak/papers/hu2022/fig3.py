"""Figure 3: success of the label attack and norm of the weights on MNIST 0/1."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.core.attack import Reference
from fedleak.papers.experiment import Panel, Row
from fedleak.papers.hu2022.curves import panel
from fedleak.papers.hu2022.defended import Case, DefendedTraining
from fedleak.papers.hu2022.fig2 import mnist_cases, picked


class Fig3(DefendedTraining):
    """Quick: the packed attack on real messages. Full: all rows and epochs, on the true residual with its noise."""

    name = "hu2022/fig3"
    summary = "success of criterion 4.2 and norm of the weights by epoch on MNIST 0/1"
    reference = Reference("hu2022", "figure 3")
    data = "mnist"
    figures = ("success", "test_accuracy", "weight_norm")

    def cases(self) -> list[Case]:
        return mnist_cases()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        as_is = [row for row in rows if row.setting["epsilon"] is None and row.setting["initialisation"] == "xavier"]
        return (
            panel(picked(rows), "success", "success of the label attack (Xavier)", ("epsilon",)),
            panel(picked(rows), "weight_norm", "norm of the weights (Xavier)", ("epsilon",)),
            panel(as_is, "success", "success without defense, by scale of the rows", ("rows",)),
        )
