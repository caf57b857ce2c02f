"""Accuracy, attack success and norm of the weights by epoch, over seeds: what figures 2, 3 and 4 show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.audit.randomness import stream
from fedleak.core.arrays import FloatArray
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Curve, Panel, Row
from fedleak.papers.hu2022.data import Rows
from fedleak.papers.hu2022.figures import BATCH_SIZE, BUDGET_ROUNDS, DELTA, GRADIENT_BOUND, LEARNING_RATE
from fedleak.papers.hu2022.training import accuracy, train
from fedleak.theory.hu2022.dp_paillier import NoiseLevels, noise_levels

FIGURES = ("train_accuracy", "test_accuracy", "success", "weight_norm")
SCORED_ON_TRUE = "criterion 4.2 on the true residual with the active party's noise, which packed products open exactly"


@dataclass(frozen=True, eq=False)
class Curves:
    """(seeds, epochs) of each figure."""

    by_name: dict[str, FloatArray]


def paper_noise(epsilon: float | None, *, epochs: int, as_printed: bool = False) -> NoiseLevels | None:
    """Eqs. 71 and 72 with the paper's T = 30 and G = 1; None without defense."""
    if epsilon is None:
        return None
    return noise_levels(
        epsilon=epsilon,
        delta=DELTA,
        epochs=epochs,
        rounds=BUDGET_ROUNDS,
        learning_rate=LEARNING_RATE,
        batch_size=BATCH_SIZE,
        gradient_bound=GRADIENT_BOUND,
        as_printed=as_printed,
    )


def one_seed(
    rows: Rows, initialisation: str, noise: NoiseLevels | None, *, epochs: int, seed: int
) -> dict[str, FloatArray]:
    """All four figures at the end of each epoch (success: over the epoch)."""
    signs = 2 * rows.train_labels - 1
    rng = stream(seed, "hu2022", rows.name, initialisation)
    right, found = 0, {name: np.zeros(epochs) for name in FIGURES}
    per_epoch = -(-len(rows.train) // BATCH_SIZE)
    for one in train(
        rows,
        initialisation=initialisation,
        noise=noise,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        epochs=epochs,
        rng=rng,
    ):
        right += int(np.sum(-np.sign(one.seen) == signs[one.batch]))
        if (one.number + 1) % per_epoch == 0:
            epoch = one.number // per_epoch
            found["train_accuracy"][epoch] = accuracy(one.weights_after, rows.train, rows.train_labels)
            found["test_accuracy"][epoch] = accuracy(one.weights_after, rows.test, rows.test_labels)
            found["success"][epoch] = right / len(rows.train)
            found["weight_norm"][epoch] = float(np.linalg.norm(one.weights_after))
            right = 0
    return found


def gather(runs: Sequence[dict[str, FloatArray]]) -> Curves:
    return Curves({name: np.array([run[name] for run in runs]) for name in runs[0]})


def banded(name: str, values: FloatArray) -> dict[str, float]:
    """Mean over seeds, with one standard error below and above, as the paper draws it."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    mean = float(values.mean())
    return {name: mean, f"{name}_low": mean - error, f"{name}_high": mean + error}


def epoch_rows(
    setting: dict[str, ScalarValue], curves: Curves, names: Sequence[str], note: str, *, every: bool = True
) -> list[Row]:
    """A row an epoch; or only the 1st, 5th, 10th, 20th and the last."""
    n_epochs = next(iter(curves.by_name.values())).shape[1]
    shown = range(n_epochs) if every else sorted({e for e in (0, 4, 9, 19, n_epochs - 1) if e < n_epochs})
    return [
        Row(
            {**setting, "epoch": epoch + 1},
            {key: value for name in names for key, value in banded(name, curves.by_name[name][:, epoch]).items()},
            note=note,
        )
        for epoch in shown
    ]


def panel(rows: Sequence[Row], figure: str, title: str, by: Sequence[str]) -> Panel:
    """One curve for each distinct combination of the settings ``by``."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if figure in row.measured:
            groups.setdefault(", ".join(_shown(key, row.setting.get(key)) for key in by), []).append(row)
    curves = [
        Curve(
            label,
            [float(row.setting["epoch"] or 0) for row in group],
            [float(row.measured[figure] or 0.0) for row in group],
            [float(row.measured[f"{figure}_low"] or 0.0) for row in group],
            [float(row.measured[f"{figure}_high"] or 0.0) for row in group],
        )
        for label, group in groups.items()
    ]
    return Panel(title, "epoch", figure.replace("_", " "), curves)


def _shown(key: str, value: object) -> str:
    return "no noise" if key == "epsilon" and value is None else f"ε = {value}" if key == "epsilon" else str(value)
