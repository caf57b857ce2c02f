"""Section 4's defenses, and noise: what each leaves of the leak, and what it costs in accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from fedleak.core.attack import Reference
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import public_stream
from fedleak.defenses.changed_settings import FreshBatches, LargerBatch, LocalSteps
from fedleak.defenses.inexact_sharing import SelectiveSharing, UpdateNoise
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2019.chain import Rows, attempt, inner_products_exact, main_score, run, two_parties
from fedleak.papers.summaries import mean
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.trial.progress import Progress

COLUMNS, VICTIM_ROWS, CURIOUS_ROWS, TEST_ROWS, BATCH = 20, 48, 96, 400, 12
ROUNDS = 480
DEFENSES: tuple[tuple[str, Defense | None], ...] = (
    ("none", None),
    ("larger-batch, 24 rows", LargerBatch(batch_size=24)),
    ("larger-batch, 48 rows", LargerBatch(batch_size=48)),
    ("local-steps, rate 0.01", LocalSteps(learning_rate=0.01)),
    ("local-steps, rate 0.1", LocalSteps(learning_rate=0.1)),
    ("fresh-batches", FreshBatches()),
    ("selective-sharing, half", SelectiveSharing(fraction=0.5)),
    ("selective-sharing, tenth", SelectiveSharing(fraction=0.1)),
    ("update-noise, 1e-6", UpdateNoise(sigma=1e-6)),
    ("update-noise, 1e-3", UpdateNoise(sigma=1e-3)),
    ("update-noise, 1e-2", UpdateNoise(sigma=1e-2)),
)


class DefensesExperiment(Experiment):
    name = "li2019/defenses"
    summary = "larger batches, local steps, shuffling, selective sharing and noise: leak and accuracy"
    reference = Reference("li2019", "section 4")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(1 if quick else 3))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, len(DEFENSES))
        for label, defense in DEFENSES:
            yield self._measured(label, defense, quick=quick)
            progress.advance()

    def _measured(self, label: str, defense: Defense | None, *, quick: bool) -> Row:
        settings = HorizontalLogisticSettings(
            rounds=ROUNDS, batch_size=BATCH, learning_rate=0.02, shuffled=("curious",), initialisation="zero"
        )
        outcomes: Counter[str] = Counter()
        cells, baselines, sums, train, test = [], [], [], [], []
        for seed in self.seeds(quick=quick):
            curious, victim, held_out = _task(seed)
            played = run(two_parties(curious, victim, settings, held_out), seed, defense)
            tried = attempt(played, "binary-records")
            outcomes[tried.guess.status.value] += 1
            score = main_score(tried)
            if score is not None:
                cells.append(score.value)
                baselines.append(score.baseline)
            columns_right, _ = inner_products_exact(played, attempt(played, "column-products"))
            sums.append(columns_right)
            train.append(played.run.utility["train_accuracy"])
            test.append(played.run.utility["test_accuracy"])
        return Row(
            setting={"defense": label, "columns": COLUMNS, "rows": VICTIM_ROWS, "runs": len(train)},
            measured={
                "cells_right": mean(cells),
                "scored_share": len(cells) / len(train),
                "inner_products_exact_share": float(np.mean(sums)),
                "train_accuracy": float(np.mean(train)),
                "test_accuracy": float(np.mean(test)),
            },
            baseline={"cells_right": mean(baselines)},
            note=", ".join(f"{status} {count}" for status, count in sorted(outcomes.items())),
        )


def _task(seed: int) -> tuple[Rows, Rows, Rows]:
    """Binary rows with labels from a noisy linear rule, so that there is something to learn."""
    rng = public_stream(seed, "li2019", "defenses")
    total = CURIOUS_ROWS + VICTIM_ROWS + TEST_ROWS
    features = rng.integers(0, 2, (total, COLUMNS)).astype(np.float64)
    rule = rng.standard_normal(COLUMNS)
    noisy = features @ rule + 0.5 * rng.standard_normal(total)
    rows = Rows(features, (noisy > np.median(noisy)).astype(np.int64))
    order = np.arange(total)
    return (
        rows.part(order[:CURIOUS_ROWS]),
        rows.part(order[CURIOUS_ROWS : CURIOUS_ROWS + VICTIM_ROWS]),
        rows.part(order[CURIOUS_ROWS + VICTIM_ROWS :]),
    )
