"""An experiment of a paper: it yields rows, each with our figures and the paper's side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fedleak.audit.progress import Progress
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue

Figures = Mapping[str, float | None]


@dataclass(frozen=True)
class Row:
    """``measured``, ``paper`` and ``baseline`` name the same figures; None is "not measured"."""

    setting: Mapping[str, ScalarValue]
    measured: Figures
    paper: Figures | None = None
    baseline: Figures | None = None
    note: str = ""


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


class Experiment(ABC):
    """One table or figure. Rows come as they are measured, so an interruption loses nothing."""

    name: ClassVar[str]  # paper/experiment, such as hu2022/fig3
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]

    @abstractmethod
    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        """The seeds over which figures are averaged: fixed beforehand, all of them reported."""

    @abstractmethod
    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        """Measure. Figures over several seeds come as mean, with ``…_low`` and ``…_high`` beside them."""

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        """The picture, where there is one."""
        return ()

    @classmethod
    def has_picture(cls) -> bool:
        """Whether there is one can be asked before anything is measured."""
        return cls.panels is not Experiment.panels
