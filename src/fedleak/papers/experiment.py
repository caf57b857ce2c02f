"""An experiment of a paper yields rows, our figures beside the paper's; the one runner makes a result of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.engines.engine import Engine
from fedleak.papers.pieces import Ahead, Piece, measure_side_by_side
from fedleak.trial.measured_journal import MeasuredJournal
from fedleak.trial.progress import Progress
from fedleak.trial.provenance import code_state, one_thread, provenance
from fedleak.trial.spent import cpu_seconds

Figures = Mapping[str, float | None]
BOUNDS = ("_low", "_high")  # endings of the figures that bound a band


class Band(StrEnum):
    """What ``x_low`` and ``x_high`` are to the figure ``x``."""

    STANDARD_ERROR = "standard_error"  # of the mean, one below and one above
    STUDENT_95 = "student_95"  # 95 % interval of the mean
    BOOTSTRAP_95 = "bootstrap_95"  # 95 % interval from resampled cells
    MIN_MAX = "min_max"  # of the runs
    MAX = "max"  # of the runs; there is no ``x_low``


@dataclass(frozen=True)
class Row:
    """``measured``, ``paper`` and ``baseline`` name the same figures; None is "not measured"."""

    setting: Mapping[str, ScalarValue]
    measured: Figures
    paper: Figures | None = None
    baseline: Figures | None = None
    note: str = ""
    bands: Mapping[str, Band] = field(default_factory=dict)  # of every figure that has bounds beside it

    def __post_init__(self) -> None:
        bounded = {name.rpartition("_")[0] for name in self.measured if name.endswith(BOUNDS)}
        if bounded != set(self.bands):
            raise ValueError(f"bands must be those of {sorted(bounded)}, which have bounds; got {sorted(self.bands)}")


@dataclass(frozen=True)
class Curve:
    """A line of a picture, with a band where there is one."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    dashed: bool = False  # the paper's own figures and baselines


@dataclass(frozen=True)
class Panel:
    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False


class Bundled(StrEnum):
    """Whether an experiment needs files that do not come with the packages that are installed."""

    NO = "yes"
    QUICK = "no, with --quick"
    ALWAYS = "no"


class Experiment(ABC):
    """One table or figure. Rows come as they are measured, so an interruption loses nothing."""

    name: ClassVar[str]  # paper/experiment, such as hu2022/fig3
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]
    needs: ClassVar[Bundled] = Bundled.NO
    # Settings of the run that somebody chose by the victim's true rows, a sentence each: no attacker could.
    from_true_rows: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def kept(self) -> MeasuredJournal:
        """Of the pieces of a long run that are measured already; ``reproduce`` may bring one with a file."""
        return MeasuredJournal()

    @abstractmethod
    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        """The seeds over which figures are averaged: fixed beforehand, all of them reported."""

    @abstractmethod
    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        """Measure. Figures over several seeds come as means, some with ``…_low`` and ``…_high`` beside them."""

    def pieces(self, *, quick: bool) -> Sequence[Piece]:
        """What ``rows`` takes from ``kept``, where it can be measured side by side."""
        return ()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        """The picture, where there is one."""
        return ()

    @classmethod
    def has_picture(cls) -> bool:
        """Whether there is one can be asked before anything is measured."""
        return cls.panels is not Experiment.panels


@dataclass(frozen=True)
class Result:
    experiment: str
    quick: bool
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    cpu_seconds: float  # of this process, its children and its attacks
    provenance: Mapping[str, object]
    complete: bool  # False where it was interrupted
    from_true_rows: tuple[str, ...] = ()


def reproduce(
    experiment: Experiment,
    *,
    quick: bool,
    progress: Progress,
    kept: MeasuredJournal | None = None,
    engine: Engine | None = None,
) -> Result:
    """Run an experiment, on one thread; Ctrl-C ends it with the rows that there are. ``kept`` has what an earlier run
    measured, of those experiments that can go on. An ``engine`` measures its pieces beforehand, where it has some."""
    if kept is not None:
        experiment.kept = kept
    began, code = cpu_seconds() - experiment.kept.earlier_seconds, code_state()
    rows: list[Row] = []
    with one_thread():
        ahead, apart = _ahead(experiment, quick, progress, engine)
        experiment.kept.is_closed = not (complete := ahead.complete)
        try:
            rows.extend(experiment.rows(quick=quick, progress=progress))
        except KeyboardInterrupt:
            complete = False
        spent, made = cpu_seconds() - began + ahead.cpu_seconds - apart, provenance(code)
    seeds, made = experiment.seeds(quick=quick), made | _elsewhere(experiment.kept, made)
    return Result(experiment.name, quick, seeds, tuple(rows), spent, made, complete, experiment.from_true_rows)


def _ahead(experiment: Experiment, quick: bool, progress: Progress, engine: Engine | None) -> tuple[Ahead, float]:
    """What an engine measured, and how much of its CPU time this process counts itself."""
    pieces = experiment.pieces(quick=quick) if engine is not None else ()
    if engine is None or not pieces:
        return Ahead(), 0.0
    began = cpu_seconds()
    ahead = measure_side_by_side(pieces, experiment.kept, engine, progress)
    return ahead, cpu_seconds() - began


def _elsewhere(kept: MeasuredJournal, made: Mapping[str, object]) -> dict[str, object]:
    """Who measured what this process did not, and the files that were read for it."""
    engines = sorted({entry.by for entry in kept.entries if entry.by})
    if not engines:
        return {}
    data = {name: digest for entry in kept.entries for name, digest in entry.data_sha256.items()}
    return {"engine": "; ".join(engines), "data_sha256": data | dict(made["data_sha256"])}  # type: ignore[call-overload]


def result_json(result: Result) -> dict[str, object]:
    return {
        "experiment": result.experiment,
        "quick": result.quick,
        "complete": result.complete,
        "seeds": list(result.seeds),
        "settings_from_true_rows": list(result.from_true_rows),
        "rows": [
            {
                "setting": dict(row.setting),
                "measured": _finite(row.measured),
                "bands": {name: band.value for name, band in row.bands.items()},
                "paper": None if row.paper is None else _finite(row.paper),
                "baseline": None if row.baseline is None else _finite(row.baseline),
                "note": row.note,
            }
            for row in result.rows
        ],
        "cpu_seconds": result.cpu_seconds,
        "provenance": dict(result.provenance),
    }


def _finite(figures: Figures) -> dict[str, float | None]:
    """JSON has no NaN: what was not measured is null."""
    return {
        name: None if value is None or not math.isfinite(value) else float(value) for name, value in figures.items()
    }
