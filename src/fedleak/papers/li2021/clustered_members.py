"""Labels from the members of nodes, as a partner of SecureBoost is told them, without and under defenses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.member_clustering import MemberClustering, own_classes
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Reference
from fedleak.core.best_names import best_names
from fedleak.core.whole.hooks import Defense
from fedleak.defenses.guarded_trees import CoarseBins, FirstTreeAlone, NoisyLabels, PurityLimit
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2021.boosted_run import N_CLASSES, BoostedRun
from fedleak.papers.li2021.printed import BREAST, IRIS, VEHICLE
from fedleak.papers.li2021.vertical_run import ATTACKER, VICTIM
from fedleak.papers.summaries import mean, min_max
from fedleak.trial.progress import Progress

LABELS = Secret(SecretKind.LABELS, ATTACKER)  # here the party without labels is the curious one
HELD_OUT = 0.2
DEFENSES: Mapping[str, Defense | None] = {
    "none": None,
    "first-tree-alone": FirstTreeAlone(),
    "purity-limit 0.9": PurityLimit(),
    "purity-limit 0.7": PurityLimit(share=0.7),
    "noisy-labels 1": NoisyLabels(),
    "noisy-labels 3": NoisyLabels(epsilon=3.0),
    "coarse-bins": CoarseBins(),
}


@dataclass(frozen=True)
class Clustered:
    accuracy: float
    own_columns: float  # the same without any tree
    majority: float
    test_accuracy: float
    cpu_seconds: float


def _runs(quick: bool) -> list[tuple[BoostedRun, str]]:
    depths = (3,) if quick else (3, 5)
    breast = [BoostedRun(BREAST, depth, trees, held_out=HELD_OUT) for trees in (5, 20) for depth in depths]
    guarded = [(run, name) for run in breast for name in DEFENSES]
    others = [BoostedRun(case, depth, 5, held_out=HELD_OUT) for case in (VEHICLE, IRIS) for depth in depths]
    return [*guarded, *((run, "none") for run in others)]


def measure(run: BoostedRun, defense: str, seed: int) -> Clustered:
    played = run.play(seed, defense=DEFENSES[defense])
    attempt = played.attempt(MemberClustering, (VICTIM,), LABELS, scores=False)
    truth = played.run.truth.of(LABELS).values[:, 0].astype(np.int64)
    n_classes = N_CLASSES[run.case.dataset]
    features = played.federation.party(VICTIM).train.features
    alone = own_classes(features, n_classes, np.random.default_rng([seed, 9]))
    return Clustered(
        _right(attempt.guess.values[:, 0].astype(np.int64), truth),
        _right(alone, truth),
        float(np.bincount(truth).max() / len(truth)),
        played.run.utility["test_accuracy"],
        attempt.cpu_seconds,
    )


def _right(parts: IntArray, truth: IntArray) -> float:
    """Share of rows, under the names that suit the parts best."""
    return best_names(parts, truth)[1] / len(truth)


class Members(Experiment):
    name = "li2021/members"
    summary = "labels, up to the names of classes, from which rows share the nodes of SecureBoost's trees"
    reference = Reference("fedleak", "docs/attacks/member-clustering.md")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2, 3, 4)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        runs = _runs(quick)
        progress.begin(self.name, len(runs))
        for run, defense in runs:
            yield _row(run, defense, [measure(run, defense, seed) for seed in self.seeds(quick=quick)])
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        mine = [row for row in rows if row.setting["dataset"] == BREAST.dataset]
        trees = sorted({int(str(row.setting["trees"])) for row in mine})
        return tuple(_panel(number, [row for row in mine if row.setting["trees"] == number]) for number in trees)


def _panel(trees: int, rows: Sequence[Row]) -> Panel:
    curves = []
    for defense in DEFENSES:
        mine = [row for row in rows if row.setting["defense"] == defense]
        x = [float(str(row.setting["depth"])) for row in mine]
        y, low, high = (
            [row.measured.get(f"label_accuracy{end}") or 0.0 for row in mine] for end in ("", "_low", "_high")
        )
        curves.append(Curve(defense, x, y, low, high))
    alone = [row for row in rows if row.setting["defense"] == "none" and row.baseline is not None]
    y = [row.baseline["label_accuracy"] or 0.0 for row in alone if row.baseline is not None]
    curves.append(Curve("own columns alone", [float(str(row.setting["depth"])) for row in alone], y, dashed=True))
    return Panel(f"breast cancer, {trees} trees", "depth", "label accuracy", curves)


def _row(run: BoostedRun, defense: str, found: Sequence[Clustered]) -> Row:
    summary = (
        min_max("label_accuracy", [one.accuracy for one in found])
        | min_max("test_accuracy", [one.test_accuracy for one in found])
        | {"majority": mean([one.majority for one in found]), "cpu_seconds": mean([one.cpu_seconds for one in found])}
    )
    return Row(
        {"dataset": run.case.dataset, "trees": run.n_trees, "depth": run.depth, "defense": defense},
        summary.figures,
        baseline={"label_accuracy": mean([one.own_columns for one in found])},
        bands=summary.bands,
    )
