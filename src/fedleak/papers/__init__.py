"""The papers: a folder each, a file an experiment, with the paper's own figures as data."""

from fedleak.core.registry import Registry
from fedleak.papers.experiment import Experiment

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    [
        "fedleak.papers.hu2022.fig2:Fig2",
        "fedleak.papers.hu2022.fig3:Fig3",
        "fedleak.papers.hu2022.fig4:Fig4",
        "fedleak.papers.hu2022.feature:Feature",
        "fedleak.papers.hu2022.hardness:Hardness",
        "fedleak.papers.hu2022.active:Active",
        "fedleak.papers.hu2022.multiparty:Multiparty",
        "fedleak.papers.hu2022.safe_rounds:SafeRounds",
        "fedleak.papers.luo2021.fig5:Fig5",
        "fedleak.papers.luo2021.fig6:Fig6",
        "fedleak.papers.luo2021.fig7:Fig7",
        "fedleak.papers.luo2021.fig9:Fig9",
        "fedleak.papers.luo2021.fig10:Fig10",
        "fedleak.papers.luo2021.fig11:Fig11",
        "fedleak.papers.luo2021.table3:Table3",
        "fedleak.papers.luo2021.speed:Speed",
    ],
)
