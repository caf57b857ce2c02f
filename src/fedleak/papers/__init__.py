"""The papers: a folder each, a file an experiment, with the paper's own figures as data."""

from fedleak.core.registry import Entry, Registry
from fedleak.papers.experiment import Experiment

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    [
        Entry("hu2022/fig2", "fedleak.papers.hu2022.fig2_to_4:Fig2"),
        Entry("hu2022/fig3", "fedleak.papers.hu2022.fig2_to_4:Fig3"),
        Entry("hu2022/fig4", "fedleak.papers.hu2022.fig2_to_4:Fig4"),
        Entry("hu2022/feature", "fedleak.papers.hu2022.feature:Feature"),
        Entry("hu2022/hardness", "fedleak.papers.hu2022.hardness:Hardness"),
        Entry("hu2022/active", "fedleak.papers.hu2022.active:Active"),
        Entry("hu2022/multiparty", "fedleak.papers.hu2022.multiparty:Multiparty"),
        Entry("hu2022/safe-rounds", "fedleak.papers.hu2022.safe_rounds:SafeRounds"),
        Entry("li2021/table2", "fedleak.papers.li2021.table2_and_3:Table2"),
        Entry("li2021/table3", "fedleak.papers.li2021.table2_and_3:Table3"),
        Entry("li2021/table4", "fedleak.papers.li2021.table4:Table4"),
        Entry("li2021/gram-precision", "fedleak.papers.li2021.gram_precision:GramPrecision"),
        Entry("li2021/no-known-cells", "fedleak.papers.li2021.no_known_cells:NoKnownCells"),
        Entry("li2021/fig7", "fedleak.papers.li2021.fig7:Fig7"),
        Entry("li2021/fig8", "fedleak.papers.li2021.fig8:Fig8"),
        Entry("li2021/fig9", "fedleak.papers.li2021.fig9_and_10:Fig9"),
        Entry("li2021/fig10", "fedleak.papers.li2021.fig9_and_10:Fig10"),
        Entry("li2019/table1", "fedleak.papers.li2019.table1:Table1"),
        Entry("li2019/scale", "fedleak.papers.li2019.table1:Scale"),
        Entry("li2019/async", "fedleak.papers.li2019.asynchronised:LocalStepsExperiment", ("li2019/local-steps",)),
        Entry("li2019/wheat", "fedleak.papers.li2019.wheat:Wheat"),
        Entry("li2019/defenses", "fedleak.papers.li2019.defended_averaging:DefensesExperiment"),
        Entry("luo2021/fig5", "fedleak.papers.luo2021.fig5:Fig5"),
        Entry("luo2021/fig6", "fedleak.papers.luo2021.fig6:Fig6"),
        Entry("luo2021/fig7", "fedleak.papers.luo2021.fig7:Fig7", ("luo2021/fig8",)),
        Entry("luo2021/fig9", "fedleak.papers.luo2021.fig9:Fig9"),
        Entry("luo2021/fig10", "fedleak.papers.luo2021.fig10:Fig10"),
        Entry("luo2021/fig11", "fedleak.papers.luo2021.fig11:Fig11"),
        Entry("luo2021/table3", "fedleak.papers.luo2021.table3:Table3"),
        Entry("luo2021/penalty", "fedleak.papers.luo2021.table3:Penalty"),
        Entry("luo2021/types", "fedleak.papers.luo2021.few_valued_columns:Types"),
        Entry("luo2021/defenses", "fedleak.papers.luo2021.defended_predictions:DefensesExperiment"),
        Entry("luo2021/speed", "fedleak.papers.luo2021.fig5:Speed"),
    ],
)
