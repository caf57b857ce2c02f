"""Figure 7: the known data ratio by the victim's features and the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fedleak.core.attack import Reference
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.theory.rotation_freedom import horizontal_kdr, most_solutions, staircase, vertical_kdr
from fedleak.trial.progress import Progress

ROWS = (20, 50, 100, 200)
FEATURES = (1, 2, 3, 5, 10, 15, 20)


class Fig7(Experiment):
    name = "li2021/fig7"
    summary = "the share of known cells that the theorems ask for, and that makes the answer unique"
    reference = Reference("li2021", "figure 7")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return ()

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, len(ROWS) * len(FEATURES))
        for m in ROWS:
            for n in FEATURES:
                unique = sum(staircase(n, with_weights=True, extra=1)) if n > 1 else 0
                yield Row(
                    setting={"victim_features": n, "rows": m},
                    measured={
                        "vertical_kdr": vertical_kdr(n, m),
                        "vertical_kdr_linear_solve": unique / (m * n),
                        "most_solutions": float(most_solutions(n, with_weights=True)),
                        "horizontal_kdr": horizontal_kdr(n, m),
                    },
                    paper={"vertical_kdr": (n - 1) * (n - 2) / (2 * m * n)},
                    note="a formula; one known cell more a row makes every row a linear solve, and the answer unique",
                )
                progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        curves = []
        for m in ROWS:
            mine = [row for row in rows if row.setting["rows"] == m]
            x = [float(str(row.setting["victim_features"])) for row in mine]
            curves.append(Curve(f"{m} rows, theorem 2", x, [row.measured["vertical_kdr"] or 0.0 for row in mine]))
            unique = [row.measured["vertical_kdr_linear_solve"] or 0.0 for row in mine]
            curves.append(Curve(f"{m} rows, unique", x, unique, dashed=True))
        return (Panel("known data ratio, vertical", "victim's features", "share of cells known", curves),)
