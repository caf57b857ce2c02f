"""Figure 2: training and test accuracy on MNIST 0/1, without and with DP-Paillier."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.core.attack import Reference
from fedleak.papers.experiment import Panel, Row
from fedleak.papers.hu2022.curves import panel
from fedleak.papers.hu2022.defended import UNIT_NORM, Case, DefendedTraining
from fedleak.papers.hu2022.figures import EPSILONS


class Fig2(DefendedTraining):
    name = "hu2022/fig2"
    summary = "accuracy by epoch on MNIST 0/1, without and with DP-Paillier"
    reference = Reference("hu2022", "figure 2")
    data = "mnist"
    figures = ("train_accuracy", "test_accuracy")

    def cases(self) -> list[Case]:
        return mnist_cases()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return tuple(panel(picked(rows), figure, figure.replace("_", " "), ("epsilon",)) for figure in self.figures)


def mnist_cases() -> list[Case]:
    """Xavier at both scales and in both readings of eq. 71; the other starts at norm 1, as the analysis asks."""
    levels = (None, *EPSILONS)
    xavier = [Case("xavier", epsilon, unit_norm=unit) for unit in (True, False) for epsilon in levels]
    printed = [
        Case("xavier", epsilon, unit_norm=unit, as_printed=True, drawn=False)
        for unit in (True, False)
        for epsilon in EPSILONS
    ]
    others = [Case(start, epsilon, drawn=False) for start in ("zero", "kaiming") for epsilon in levels]
    return xavier + printed + others


def picked(rows: Sequence[Row]) -> list[Row]:
    """What the paper draws: Xavier; here at norm 1 and with the noise of lemma D.4."""
    return [
        row
        for row in rows
        if row.setting["initialisation"] == "xavier"
        and row.setting["rows"] == UNIT_NORM
        and row.setting["sigma"] in ("none", "lemma D.4")
    ]
