"""Labels of a split network's active party, from the gradients that its partner gets back: each attack, each defense.

Beyond Jin et al. 2021, whose gradients of weights do not leave a party here. The attacks and most defenses are of Li et
al. 2022 (arXiv 2102.08504), on tables in which one label in twenty is positive. Rows are drawn, and columns dealt out,
anew for every seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.gradient_labels import GradientClustering, GradientDirectionLabels, GradientNormLabels
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Attack, Reference
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness
from fedleak.data import DataSpec, load_table
from fedleak.defenses.changed_settings import LargerBatch
from fedleak.defenses.embedding_blurring import EmbeddingGradientNoise, Marvell, MaxNormNoise
from fedleak.papers.dealing import deal_columns
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.summaries import Summary, mean, student_95
from fedleak.protocols.networks.network_settings import CutSettings
from fedleak.trial.play import Played, play
from fedleak.trial.progress import Progress

BANK, FINTECH = "bank", "fintech"
TARGET = Secret(SecretKind.LABELS, BANK)
N_TRAINED, N_HELD_OUT, POSITIVE = 300, 75, 0.05
ROUNDS, BATCH_SIZE, LEARNING_RATE = 120, 50, 0.1  # 20 epochs
BOTTOM = ("linear 16", "activation relu", "linear 8")
TOPS: Mapping[str, tuple[str, ...]] = {"linear": (), "16 hidden": ("linear 16", "activation relu")}


@dataclass(frozen=True)
class Tabled:
    spec: DataSpec
    name: str


TABLES = (
    Tabled(DataSpec(source="sklearn:breast_cancer", task="binary", positive=0, scaling="standard"), "breast cancer"),
    Tabled(DataSpec(source="credit_default", task="binary", positive=1, scaling="standard"), "credit"),
)
DEFENSES: tuple[tuple[str, Defense | None], ...] = (
    ("none", None),
    ("embedding-gradient-noise, power 1", EmbeddingGradientNoise(power=1.0)),
    ("embedding-gradient-noise, power 16", EmbeddingGradientNoise(power=16.0)),
    ("max-norm-noise", MaxNormNoise()),
    ("marvell, power 4", Marvell(power=4.0)),
    ("marvell, power 40", Marvell(power=40.0)),
    ("marvell, power 400", Marvell(power=400.0)),
    ("larger-batch, all rows", LargerBatch(batch_size=N_TRAINED)),
)
ATTACKS: Mapping[str, Attack] = {
    "auc_by_length": GradientNormLabels(),
    "auc_by_direction": GradientDirectionLabels(),
    "accuracy_of_clusters": GradientClustering(),
}


class SplitLabels(Experiment):
    name = "jin2021/split-labels"
    summary = "rare labels of a split network by length, direction and clusters of gradients, under each defense"
    reference = Reference("jin2021", "section 3.1, by what stays at home")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else tuple(range(5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        tops = dict(list(TOPS.items())[:1]) if quick else TOPS
        progress.begin(self.name, len(TABLES) * len(tops) * len(DEFENSES))
        for table in TABLES:
            for top, layers in tops.items():
                federations = [federation(table.spec, layers, seed) for seed in self.seeds(quick=quick)]
                for label, defense in DEFENSES:
                    yield self._measured({"dataset": table.name, "top": top, "defense": label}, federations, defense)
                    progress.advance()

    def _measured(self, setting: Mapping[str, str], federations: list[Federation], defense: Defense | None) -> Row:
        found: dict[str, list[float]] = {}
        blind: dict[str, list[float | None]] = {}
        for seed, one in enumerate(federations):
            played = play(one, Randomness.published(seed, "jin2021", "split-labels"), defense=defense)
            for name, (value, without) in _figures(played).items():
                found.setdefault(name, []).append(value)
                blind.setdefault(name, []).append(without)
            played.end()
        summary = Summary({"rows": float(N_TRAINED), "runs": float(len(federations))})
        for name, values in found.items():
            summary |= student_95(name, values)
        baseline = {name: mean(values) for name, values in blind.items()}
        return Row(setting, summary.figures, bands=summary.bands, baseline=baseline)


def federation(spec: DataSpec, top: tuple[str, ...], seed: int) -> Federation:
    """Rows with one positive label in twenty, trained on and held out alike; half of the columns each."""
    table, rng = load_table(spec), np.random.default_rng(seed)
    values, labels = np.asarray(table.values), np.asarray(table.labels).astype(np.int64)
    ordered = [rng.permutation(np.flatnonzero(labels == kind)) for kind in (0, 1)]
    parts = []
    for n_rows in (N_TRAINED, N_HELD_OUT):
        counts = n_rows - round(POSITIVE * n_rows), round(POSITIVE * n_rows)
        parts.append(np.concatenate([kind[:count] for kind, count in zip(ordered, counts, strict=True)]))
        ordered = [kind[count:] for kind, count in zip(ordered, counts, strict=True)]
    columns = rng.permutation(values.shape[1])
    shares = {BANK: columns[::2], FINTECH: columns[1::2]}
    train = rng.permutation(parts[0])
    parties = deal_columns(values, table.columns, labels, shares, rows=train, held_out=parts[1])
    settings = CutSettings(
        rounds=ROUNDS,
        batch_size=BATCH_SIZE,
        batches="shuffled",
        learning_rate=LEARNING_RATE,
        bottom=BOTTOM,
        top=top,
    )
    return Federation("split-network", parties, settings)


def _figures(played: Played) -> dict[str, tuple[float, float | None]]:
    """Each with its baseline: by the audit's own metrics, and the accuracy of the model on held-out rows."""
    found: dict[str, tuple[float, float | None]] = {}
    for name, attack in ATTACKS.items():
        score = played.attempt(attack, (FINTECH,), TARGET).scores[0]
        found[name] = (score.value, score.baseline)
    for name in ("test_accuracy", "test_balanced_accuracy"):
        found[name] = (played.run.utility[name], played.run.baselines.get(name))
    return found
