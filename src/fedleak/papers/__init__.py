"""The papers: a folder each, a file an experiment, with the paper's own figures as data."""

from fedleak.core.registry import Registry
from fedleak.papers.experiment import Experiment

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    [
        "fedleak.papers.hu2022.fig2_to_4:Fig2",
        "fedleak.papers.hu2022.fig2_to_4:Fig3",
        "fedleak.papers.hu2022.fig2_to_4:Fig4",
        "fedleak.papers.hu2022.feature:Feature",
        "fedleak.papers.hu2022.hardness:Hardness",
        "fedleak.papers.hu2022.active:Active",
        "fedleak.papers.hu2022.multiparty:Multiparty",
        "fedleak.papers.hu2022.safe_rounds:SafeRounds",
        "fedleak.papers.li2021.table2_and_3:Table2",
        "fedleak.papers.li2021.table2_and_3:Table3",
        "fedleak.papers.li2021.table4:Table4",
        "fedleak.papers.li2021.gram_precision:GramPrecision",
        "fedleak.papers.li2021.no_known_cells:NoKnownCells",
        "fedleak.papers.li2021.fig7:Fig7",
        "fedleak.papers.li2021.fig8:Fig8",
        "fedleak.papers.li2021.fig9_and_10:Fig9",
        "fedleak.papers.li2021.fig9_and_10:Fig10",
        "fedleak.papers.li2019.table1:Table1",
        "fedleak.papers.li2019.table1:Scale",
        "fedleak.papers.li2019.asynchronised:LocalStepsExperiment",
        "fedleak.papers.li2019.wheat:Wheat",
        "fedleak.papers.li2019.defended_averaging:DefensesExperiment",
        "fedleak.papers.luo2021.fig5:Fig5",
        "fedleak.papers.luo2021.fig6:Fig6",
        "fedleak.papers.luo2021.fig7:Fig7",
        "fedleak.papers.luo2021.fig9:Fig9",
        "fedleak.papers.luo2021.fig10:Fig10",
        "fedleak.papers.luo2021.fig11:Fig11",
        "fedleak.papers.luo2021.table3:Table3",
        "fedleak.papers.luo2021.table3:Penalty",
        "fedleak.papers.luo2021.few_valued_columns:Types",
        "fedleak.papers.luo2021.defended_predictions:DefensesExperiment",
        "fedleak.papers.luo2021.fig5:Speed",
    ],
)
