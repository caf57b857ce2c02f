"""How exactly the inner products come out of a recurring batch: the paper's way and the rank-aware one, in one run.

Not a table of the paper: it passes over this step. The precision of the fixed-point encoding is a factor of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate, estimate_gram, naive_gram
from fedleak.attacks.residuals.trajectory import read_trajectory
from fedleak.attacks.verdicts import NotIdentified
from fedleak.core.attack import Reference
from fedleak.papers.experiment import Bundled, Experiment, Row
from fedleak.papers.li2021.printed import VerticalCase
from fedleak.papers.li2021.tables import INDEPENDENT, STABLE_RATE
from fedleak.papers.li2021.vertical_run import run_case
from fedleak.papers.summaries import mean_max
from fedleak.trial.progress import Progress

ENCODED, UNROUNDED = 40, 52  # 52 bits of fraction are all that a float64 near 1 has
WIDTHS = ((1, 26), (2, 27), (3, 27), (4, 26), (5, 25), (6, 24), (10, 20))


class GramPrecision(Experiment):
    name = "li2021/gram-precision"
    summary = "error of the recovered inner products, rank-aware over the paper's way, by encoding"
    reference = Reference("li2021", "section 4.1, eq. 3")
    needs = Bundled.ALWAYS
    from_true_rows = (STABLE_RATE, INDEPENDENT)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, 2 * len(WIDTHS))
        for bits in (ENCODED, UNROUNDED):
            for width, rows in WIDTHS:
                found = [_errors(width, rows, bits, seed) for seed in self.seeds(quick=quick)]
                naive, aware = (float(np.mean(side)) for side in zip(*found, strict=True))
                ratios = mean_max("rank_aware_over_naive", [b / a for a, b in found])
                progress.advance()
                yield Row(
                    setting={"dataset": "breast-cancer", "victim_features": width, "rows": rows, "fraction_bits": bits},
                    measured={"naive_error": naive, "rank_aware_error": aware, **ratios.figures},
                    note="one recurring batch, 100 rounds, logistic; the naive side is eq. 3 for all pairs of rounds",
                    bands=ratios.bands,
                )


def _errors(width: int, rows: int, bits: int, seed: int) -> tuple[float, float]:
    """Relative errors, the naive way first."""
    case = VerticalCase("breast-cancer", 30 - width, width, 0, rows, 0.0, 0.0, 0.0)
    result = run_case(case, logistic=True, shuffled=False, seed=seed, fraction_bits=bits, n_rounds=100)
    read = read_trajectory(result.view())
    true = result.rows @ result.rows.T
    size = float(np.linalg.norm(true))
    if isinstance(read, NotIdentified):
        return float("nan"), float("nan")
    _, trajectory = read
    naive = float(np.linalg.norm(naive_gram(trajectory) - true)) / size
    found = estimate_gram(trajectory, width, np.random.default_rng(seed))
    aware = float(np.linalg.norm(found.gram - true)) / size if isinstance(found, GramEstimate) else float("nan")
    return naive, aware
