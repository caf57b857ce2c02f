"""Tables through fully connected bottoms: where there are no convolutions, the paper's first two steps are all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.core.attack import Reference
from fedleak.core.whole.federation import Federation
from fedleak.data import DataSpec, load_table
from fedleak.papers.dealing import deal_columns
from fedleak.papers.experiment import Bundled, Experiment, Row
from fedleak.papers.jin2021.cafe_run import server_party, table_figures
from fedleak.protocols.networks.network_settings import CutSettings
from fedleak.theory.batch_separation import batches_for_sums
from fedleak.trial.progress import Progress

BUNDLED = "breast cancer"  # with scikit-learn
SPECS = {
    BUNDLED: DataSpec(source="sklearn:breast_cancer", task="binary", positive=0),
    "credit": DataSpec(source="credit_default", task="binary", positive=1, max_rows=800),
}
N_WORKERS = 4
BATCH_SIZE = 40
SPARE = 1.1  # batches, times those that separate all rows


class Tables(Experiment):
    name = "jin2021/tables"
    summary = "columns of four workers whose networks are fully connected, by two linear systems"
    reference = Reference("jin2021", "section 3.3, after theorem 2")
    needs = Bundled.QUICK

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        datasets = [BUNDLED] if quick else list(SPECS)
        progress.begin(self.name, len(datasets) * len(self.seeds(quick=quick)))
        n_rows, size = (80, 8) if quick else (None, BATCH_SIZE)
        for dataset in datasets:
            for seed in self.seeds(quick=quick):
                federation = table_federation(SPECS[dataset], seed, n_rows=n_rows, size=size)
                rounds = federation.settings.rounds  # type: ignore[attr-defined]
                setting = {"dataset": dataset, "seed": seed, "rows": federation.n_rows, "batches": rounds}
                yield Row(setting, table_figures(federation, seed))
                progress.advance()


def table_federation(spec: DataSpec, seed: int, *, n_rows: int | None, size: int) -> Federation:
    table = load_table(spec)
    values, labels = np.asarray(table.values)[:n_rows], np.asarray(table.labels)[:n_rows].astype(np.int64)
    rng = np.random.default_rng(seed)
    dealt = np.array_split(rng.permutation(values.shape[1]), N_WORKERS)
    shares = {f"worker {number + 1}": columns for number, columns in enumerate(dealt)}
    parties = deal_columns(values, table.columns, labels, shares)
    needed = batches_for_sums(len(values), size, shuffled=False)
    settings = CutSettings(rounds=int(SPARE * needed), batch_size=size, trained=False)
    return Federation("vertical-network", (*parties, server_party()), settings)
