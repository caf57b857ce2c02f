"""Small random tables with columns of all kinds: normal, skewed, binary, whole, large, constant and in words."""

from __future__ import annotations

import numpy as np

Choice = np.random.Generator
KINDS = {"normal": 0.45, "skewed": 0.15, "binary": 0.12, "whole": 0.1, "large": 0.06, "constant": 0.02, "text": 0.1}


def random_table(
    n_rows: int, n_columns: int, task: str, rng: Choice, *, binary: bool = False, n_classes: int = 2
) -> tuple[list[str], str]:
    """Columns of all kinds; every label is there, whatever the rule says of it."""
    names = [f"c{number}" for number in range(n_columns)]
    kinds = ["binary"] * n_columns if binary else [str(rng.choice(list(KINDS), p=list(KINDS.values()))) for _ in names]
    cells = [_column(kind, n_rows, rng) for kind in kinds]
    numbers = [column for column in cells if not isinstance(column[0], str)]
    known = np.array(numbers, dtype=float).reshape(len(numbers), n_rows)
    score = rng.standard_normal(len(known)) @ _scaled(known) + 0.5 * rng.standard_normal(n_rows)
    if task == "regression":
        target: list[object] = score.round(6).tolist()
    else:
        ranks = np.argsort(np.argsort(score))
        share = rng.choice([0.2, 0.5]) if n_classes == 2 else 1 / n_classes
        cuts = [1 - share] if n_classes == 2 else np.arange(1, n_classes) / n_classes
        highest = np.minimum(np.asarray(cuts) * n_rows, n_rows - 1)
        target = np.searchsorted(highest, ranks, side="right").tolist()
    lines = [",".join([*names, "target"])]
    lines += [",".join(str(value) for value in row) for row in zip(*cells, target, strict=True)]
    return names, "\n".join(lines) + "\n"


def _column(kind: str, n_rows: int, rng: Choice) -> list[object]:
    normal = rng.standard_normal(n_rows)
    if kind == "text":
        return [f"v{value}" for value in rng.integers(0, int(rng.integers(2, 6)), n_rows)]
    drawn = {
        "normal": normal,
        "skewed": np.exp(1.5 * normal),
        "binary": rng.integers(0, 2, n_rows),
        "whole": rng.integers(0, 9, n_rows),
        "large": 1000 * normal + 5000,
        "constant": np.full(n_rows, 3),
    }[kind]
    return list(np.round(drawn, 6).tolist())


def _scaled(rows: np.ndarray) -> np.ndarray:
    spread = rows.std(axis=1, keepdims=True)
    return np.asarray((rows - rows.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0))
