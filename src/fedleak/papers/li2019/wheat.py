"""The full chain on real genotypes: wheat DArT markers, random sub-tables, transcript to records and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from fedleak.attacks.binary.lattice import reduced_lattice
from fedleak.core.attack import Reference, Status
from fedleak.core.whole.randomness import public_stream
from fedleak.data import load_table
from fedleak.data.spec import DataSpec
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2019.chain import Rows, attempt, main_score, run, two_parties
from fedleak.papers.summaries import mean
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.trial.progress import Progress

GRID = tuple((m, d) for m in (8, 16, 24, 32) for d in (m + 4, 2 * m))
QUICK = ((8, 12), (16, 32))
CURIOUS_ROWS = 120


def wheat_rows() -> Rows:
    """Markers, and as label whether the yield in the first environment is above average."""
    table = load_table(DataSpec(source="wheat_dart_markers", target="y_1", task="regression", scaling="none"))
    part = table.rows(np.arange(table.n_rows))
    assert part.labels is not None
    return Rows(part.features, (part.labels > 0).astype(np.int64))


class Wheat(Experiment):
    name = "li2019/wheat"
    summary = "records and labels of real binary genotypes, from the transcript of a federation"
    reference = Reference("li2019", "section 3.2")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(3 if quick else 20))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        grid = QUICK if quick else GRID
        progress.begin(self.name, len(grid) + 1)
        everything = wheat_rows()
        for m, d in grid:
            yield self._sub_tables(everything, m, d, quick=quick)
            progress.advance()
        yield self._all_rows_every_round(everything, quick=quick)
        progress.advance()

    def _sub_tables(self, everything: Rows, m: int, d: int, *, quick: bool) -> Row:
        """The curious party's own batches are shuffled, the victim's are fixed."""
        outcomes: Counter[Status] = Counter()
        by_columns_alone, right, baselines, cells = [], [], [], []
        for seed in self.seeds(quick=quick):
            curious, victim = _drawn(everything, m, d, seed)
            settings = HorizontalLogisticSettings(
                rounds=3 * (d + 1), batch_size=m, learning_rate=1 / (m * d), shuffled=("curious",), fraction_bits=44
            )
            tried = attempt(run(two_parties(curious, victim, settings), seed), "binary-records")
            outcomes[tried.guess.status] += 1
            score = main_score(tried)
            if tried.guess.status is Status.RECOVERED and score is not None:
                right.append(score.value)
                baselines.append(score.baseline)
            if score is not None:
                cells.append(score.value)
            lattice = reduced_lattice((victim.features.T @ victim.features).astype(np.int64))
            by_columns_alone.append(lattice.rank == m and lattice.determinant == 1)
        n = len(self.seeds(quick=quick))
        return Row(
            setting={"rows": m, "columns": d, "sub_tables": n, "models": "curious batches shuffled"},
            measured={
                "certified_share": outcomes[Status.RECOVERED] / n,
                "cells_right_if_certified": mean(right),
                "worst_if_certified": min(right) if right else None,
                "undetermined_share": outcomes[Status.UNDETERMINED] / n,
                "partial_share": outcomes[Status.PARTIAL] / n,
                "cells_right_where_scored": mean(cells),
            },
            baseline={
                "certified_share": float(np.mean(by_columns_alone)),
                "cells_right_if_certified": mean(baselines),
            },
            note="baseline of the certified share: columns alone generate ℤᵐ, without the column of ones",
        )

    def _all_rows_every_round(self, everything: Rows, *, quick: bool) -> Row:
        """Both parties use all their rows in every round: the models turn collinear."""
        m, d = 16, 32
        ranks, statuses = [], []
        for seed in self.seeds(quick=quick):
            curious, victim = _drawn(everything, m, d, seed)
            settings = HorizontalLogisticSettings(rounds=3 * (d + 1), learning_rate=1 / (CURIOUS_ROWS * d))
            guess = attempt(run(two_parties(curious, victim, settings), seed), "binary-records").guess
            statuses.append(guess.status is Status.NOT_IDENTIFIABLE)
            ranks.append(float(guess.evidence["rank"] or 0))
        return Row(
            setting={"rows": m, "columns": d, "sub_tables": len(ranks), "models": "all rows in every round"},
            measured={
                "not_identifiable_share": float(np.mean(statuses)),
                "rank": float(np.mean(ranks)),
                "rank_needed": d + 1.0,
            },
            note="full-batch trajectory",
        )


def _drawn(everything: Rows, m: int, d: int, seed: int) -> tuple[Rows, Rows]:
    """Random markers and rows; markers that are constant over the whole set are not among them."""
    rng = public_stream(seed, "li2019", "wheat", str(m), str(d))
    varying = np.flatnonzero(np.ptp(everything.features, axis=0) > 0)
    columns = rng.choice(varying, d, replace=False)
    order = rng.permutation(len(everything.labels))
    chosen = Rows(everything.features[:, columns], everything.labels)
    return chosen.part(order[m : m + CURIOUS_ROWS]), chosen.part(order[:m])
