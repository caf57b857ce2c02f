"""The one runner of all experiments."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from fedleak.audit.environment import environment
from fedleak.audit.progress import Progress
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Experiment, Figures, Row


@dataclass(frozen=True)
class Result:
    experiment: str
    quick: bool
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    seconds: float
    environment: dict[str, ScalarValue]
    complete: bool  # False where it was interrupted


def reproduce(experiment: Experiment, *, quick: bool, progress: Progress) -> Result:
    """Run an experiment; Ctrl-C ends it with the rows that there are."""
    began = time.perf_counter()
    rows: list[Row] = []
    complete = True
    try:
        rows.extend(experiment.rows(quick=quick, progress=progress))
    except KeyboardInterrupt:
        complete = False
    seconds = time.perf_counter() - began
    seeds = experiment.seeds(quick=quick)
    return Result(experiment.name, quick, seeds, tuple(rows), seconds, environment(), complete)


def result_json(result: Result) -> dict[str, object]:
    return {
        "experiment": result.experiment,
        "quick": result.quick,
        "complete": result.complete,
        "seeds": list(result.seeds),
        "rows": [
            {
                "setting": dict(row.setting),
                "measured": _finite(row.measured),
                "paper": None if row.paper is None else _finite(row.paper),
                "baseline": None if row.baseline is None else _finite(row.baseline),
                "note": row.note,
            }
            for row in result.rows
        ],
        "seconds": result.seconds,
        "environment": result.environment,
    }


def _finite(figures: Figures) -> dict[str, float | None]:
    """JSON has no NaN: what was not measured is null."""
    return {
        name: None if value is None or not math.isfinite(value) else float(value) for name, value in figures.items()
    }
