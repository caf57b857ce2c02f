"""Fig. 6: path restriction on a decision tree, by the share of unknown features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.attacks.predictions.path_restriction import PathRestriction, Pick
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.randomness import public_stream
from fedleak.metrics.branching_rate import Branching, branching
from fedleak.models.inversion.tree_paths import tree_paths
from fedleak.models.joint_training import train_tree
from fedleak.models.tree_models import TreeModel, TreeOutput
from fedleak.papers.experiment import Experiment, Panel, Row
from fedleak.papers.luo2021.fig5 import SHARES, SPLIT
from fedleak.papers.luo2021.served_trial import Rows, Served, serve, split_rows, target_columns
from fedleak.papers.luo2021.tables import REAL, PaperTable, paper_table
from fedleak.papers.panels import panels_by
from fedleak.papers.summaries import student_95
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.theory.prediction_bounds import count_paths
from fedleak.trial.progress import Progress

SETTINGS = PredictionSettings(model="tree")
RANDOM_PATH = "random path"
N_DRAWS = 5  # paths drawn for each row where all are alike, to lessen the noise of the draw itself


class Fig6(Experiment):
    name = "luo2021/fig6"
    summary = "path restriction on a decision tree: correct branching rate by the share of unknown features"
    reference = Reference("luo2021", "fig. 6")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        most = (4000, 1000, 400) if quick else (30000, 5000, 6000)
        progress.begin(self.name, len(REAL) * len(SHARES))
        for name in REAL:
            table = paper_table(name)
            splits = [split_rows(table, seed, SPLIT, most) for seed in seeds]
            trees = [_tree(table, rows, seed) for rows, seed in zip(splits, seeds, strict=True)]
            for share in SHARES:
                trials = [
                    _trial(table, rows, tree, share, seed)
                    for rows, tree, seed in zip(splits, trees, seeds, strict=True)
                ]
                yield from _rows(table, share, trials)
                progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return panels_by(rows, "data", "unknown share", "method", "cbr", y_label="correct branching rate")


def _tree(table: PaperTable, rows: Rows, seed: int) -> TreeModel:
    return train_tree(
        table.features[rows.train],
        table.labels[rows.train],
        table.columns,
        depth=SETTINGS.tree_depth,
        output=TreeOutput.ONE_HOT,
        rng=public_stream(seed, "train", table.name),
    )


def _trial(
    table: PaperTable, rows: Rows, tree: TreeModel, share: float, seed: int
) -> tuple[dict[str, Branching], float]:
    """Branch counts of each method, and the mean number of candidate paths."""
    served = serve(table, rows.predict, target_columns(table, seed, share), tree, SETTINGS, seed=seed)
    positions = tree.positions(served.target)
    truth = served.inputs
    found = {}
    for pick in Pick:
        counts = Branching(0, 0)
        for draw in range(N_DRAWS if pick is Pick.UNIFORM else 1):
            guess = served.attempt(PathRestriction(pick), repeat=draw).guess
            counts += branching(tree, served.full_rows(guess.values), truth, positions)
        found[pick.value] = counts
    found[RANDOM_PATH] = _random_paths(tree, served, positions, public_stream(seed, "random path", table.name))
    own = np.setdiff1d(np.arange(len(tree.columns)), positions)
    left = count_paths(tree, truth[:, own], own, tree.confidences(truth)).by_prediction
    return found, float(left.mean())


def _random_paths(tree: TreeModel, served: Served, positions: np.ndarray, rng: np.random.Generator) -> Branching:
    """The paper's baseline: any path of the tree, whatever own features and the prediction say."""
    paths = tree_paths(tree)
    low, high = np.clip(paths.low, 0.0, 1.0), np.clip(paths.high, 0.0, 1.0)
    truth = served.inputs
    counts = Branching(0, 0)
    for _ in range(N_DRAWS):
        drawn = rng.integers(len(paths.leaves), size=len(truth))
        counts += branching(tree, (low[drawn] + np.maximum(high, low)[drawn]) / 2, truth, positions)
    return counts


def _rows(table: PaperTable, share: float, trials: Sequence[tuple[dict[str, Branching], float]]) -> Iterator[Row]:
    pooled = {method: sum((trial[method] for trial, _ in trials), Branching(0, 0)) for method in trials[0][0]}
    for method, counts in pooled.items():
        rates = [rate for trial, _ in trials if (rate := trial[method].rate) is not None]
        measured = student_95("cbr", rates) | {"cbr": counts.rate, "compared": float(counts.n_compared)}
        if method != RANDOM_PATH:
            measured |= {"candidate_paths": float(np.mean([left for _, left in trials]))}
        setting: dict[str, ScalarValue] = {"data": table.name, "unknown share": share, "method": method}
        note = "" if len(rates) == len(trials) else f"{len(trials) - len(rates)} trials have no node of a target column"
        yield Row(setting, measured.figures, None, {"cbr": pooled[RANDOM_PATH].rate}, note, measured.bands)
