"""Bins of the victim's cells from the sums that SecureBoost asks it for, beside the ceiling that the sums leave.

Rows in the same nodes with the same g and h in every tree are exchangeable. The ceiling is the share of cells whose
group of such rows lies in one bin as a whole; it is worked out with the true bins, for the score alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

import numpy as np

from fedleak.attacks.boosting.column_readings import bin_sums, readings
from fedleak.attacks.boosting.histogram_decoding import HistogramDecoding
from fedleak.attacks.boosting.histogram_system import histogram_system
from fedleak.attacks.boosting.label_holder_sums import trees_of_partner
from fedleak.attacks.boosting.reverse_sum import ReverseSum
from fedleak.attacks.boosting.routing_intervals import RoutingIntervals
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import Table
from fedleak.core.view import View
from fedleak.deviations.marked_rows import ReverseSum as Marks
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2021.boosted_run import BoostedRun
from fedleak.papers.li2021.printed import BREAST, IRIS, VEHICLE
from fedleak.papers.li2021.vertical_run import ATTACKER, VICTIM
from fedleak.papers.summaries import Summary, mean, min_max
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.trial.isolation import end_isolation
from fedleak.trial.play import Played
from fedleak.trial.progress import Progress
from fedleak.trial.spent import Spent, note_apart

BINS, RANGES = (Secret(kind, VICTIM) for kind in (SecretKind.BINS, SecretKind.RANGES))
N_SEEDS, N_FEW, N_INTERVALS = 20, 3, 3
N_WORKERS = 4


@dataclass(frozen=True)
class Setup:
    """A line of the table. ``marked``: the label holder deviates. ``intervals``: split points are searched as well."""

    run: BoostedRun
    n_seeds: int
    marked: bool = False
    cipher: str = "sealed"
    hidden_columns: bool = False
    intervals: bool = False

    @property
    def shown(self) -> dict[str, str | int]:
        return {
            "dataset": self.run.case.dataset,
            "attack": (ReverseSum if self.marked else HistogramDecoding).name,
            "labels": "one against the rest" if self.run.one_against_rest else "all classes",
            "depth": self.run.depth,
            "trees": self.run.n_trees,
            "columns": "hidden" if self.hidden_columns else "shown",
            "cipher": self.cipher,
        }


def _setups(quick: bool) -> list[Setup]:
    depths = (3,) if quick else (3, 5)
    many, few = (1, 1) if quick else (N_SEEDS, N_FEW)
    whole = [Setup(BoostedRun(VEHICLE, depth, 5), many, intervals=True) for depth in depths]
    rest = [Setup(BoostedRun(VEHICLE, depth, 20, one_against_rest=True), many) for depth in depths]
    marks = [Setup(BoostedRun(VEHICLE, 3, 1, one_against_rest=True), many, marked=True)]
    others = [Setup(BoostedRun(IRIS, depth, 5), few) for depth in depths]
    others += [Setup(BoostedRun(BREAST, depth, 20), few) for depth in depths]
    hidden = [Setup(BoostedRun(VEHICLE, 3, 5), few, hidden_columns=True)]
    if quick:
        return [*whole, *marks, *others[:1], *hidden]
    longer = [Setup(BoostedRun(VEHICLE, depth, 20), 1) for depth in depths]
    real = [
        Setup(BoostedRun(VEHICLE, 3, 5), 1, cipher="paillier"),
        Setup(BoostedRun(VEHICLE, 3, 1, one_against_rest=True), 1, marked=True, cipher="paillier"),
    ]
    return [*whole, *rest, *marks, *others, *hidden, *longer, *real]


@dataclass(frozen=True)
class Decoded:
    placed: float
    wrong: int
    ceiling: float | None  # None where columns are hidden: what the sums then leave open nobody has worked out
    baseline: float  # cells in the most frequent bin of their column
    cpu_seconds: float
    same_splits: float | None = None  # as an honest label holder announces
    widths: tuple[float, float, float] | None = None  # by routing, with bins; share of cells in their interval


def measure(setup: Setup, seed: int) -> Decoded:
    deviation = Marks() if setup.marked else None
    played = setup.run.play(seed, deviation=deviation, cipher=setup.cipher, reveal_feature=not setup.hidden_columns)
    attack: type[Attack] = ReverseSum if setup.marked else HistogramDecoding
    attempt = played.attempt(attack, (ATTACKER,), BINS, scores=False)
    truth, values = played.run.truth.of(BINS).values, attempt.guess.values
    told = np.isfinite(values)
    return Decoded(
        float(told.mean()),
        int((values[told] != truth[told]).sum()),
        None if setup.hidden_columns else 1.0 if setup.marked else _ceiling(played),
        float(np.mean([np.unique(column, return_counts=True)[1].max() / len(column) for column in truth.T])),
        attempt.cpu_seconds,
        _same_splits(setup, seed, played) if setup.marked else None,
        _intervals(setup, seed) if setup.intervals and seed < N_INTERVALS else None,
    )


def _measured_apart(task: tuple[Setup, int]) -> Decoded:
    """In a process of its own, which leaves no server of attacks behind."""
    try:
        return measure(*task)
    finally:
        end_isolation()


def _ceiling(played: Played) -> float:
    return float(placeable(played.view((ATTACKER,), BINS), played.run.truth.of(BINS).values).mean())


def placeable(view: View, bins: FloatArray) -> BoolArray:
    """Cells whose exchangeable rows are all in their bin."""
    ids, trees = trees_of_partner(view, VICTIM)
    found = np.zeros(bins.shape, dtype=bool)
    for column, true in enumerate(bins.T):
        pairs = zip(trees.values(), readings(list(trees.values()), column)[0], strict=True)
        nodes = [node for tree, order in pairs if order is not None for node in bin_sums(tree, order)]
        group_of = histogram_system(len(ids), nodes).group_of
        low, high = (np.full(group_of.max() + 1, end) for end in (np.inf, -np.inf))
        np.minimum.at(low, group_of, true)
        np.maximum.at(high, group_of, true)
        found[:, column] = (low == high)[group_of]
    return found


def _same_splits(setup: Setup, seed: int, played: Played) -> float:
    honest = setup.run.play(seed, cipher="sealed")
    tables = [_splits(one, party) for party in (ATTACKER, VICTIM) for one in (honest, played)]
    return float(all(np.array_equal(one, other) for one, other in zip(tables[::2], tables[1::2], strict=True)))


def _splits(played: Played, party: str) -> FloatArray:
    found = next(r.value for r in played.run.locals[party] if r.name == boosting.SPLITS.name)
    assert isinstance(found, Table)
    return np.asarray(found.values)


def _intervals(setup: Setup, seed: int) -> tuple[float, float, float]:
    played = setup.run.play(seed, enrolled_records=True)
    guess = played.attempt(RoutingIntervals, (ATTACKER,), RANGES, setup.run.ranges(played), scores=False).guess
    truth, ends = played.run.truth.of(RANGES).values, guess.intervals
    assert ends is not None
    held = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    widths = (float(guess.evidence[name] or 0) for name in ("mean width by routing alone", "mean width"))
    by_routing, with_bins = widths
    return by_routing, with_bins, float(held.mean())


class Histograms(Experiment):
    name = "li2021/histograms"
    summary = "a partner's cells placed in their bins by the sums that SecureBoost opens"
    reference = Reference("fedleak", "docs/attacks/histogram-decoding.md")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else tuple(range(N_SEEDS))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        setups, seeds = _setups(quick), self.seeds(quick=quick)
        tasks = [(setup, seed) for setup in setups for seed in seeds[: setup.n_seeds]]
        progress.begin(self.name, len(tasks))
        with get_context("spawn").Pool(min(N_WORKERS, len(tasks))) as pool:
            results = pool.imap(_measured_apart, tasks)
            for setup in setups:
                found = []
                for one in islice(results, setup.n_seeds):
                    note_apart(Spent(0.0, one.cpu_seconds))
                    progress.advance()
                    found.append(one)
                yield _row(setup, found)

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        mine = [row for row in rows if row.setting["dataset"] == VEHICLE.dataset and row.setting["cipher"] == "sealed"]
        return (_panel(mine),)


def _panel(rows: Sequence[Row]) -> Panel:
    curves = []
    for labels in dict.fromkeys(str(row.setting["labels"]) for row in rows):
        for depth in dict.fromkeys(int(str(row.setting["depth"])) for row in rows):
            points = sorted(
                (float(str(row.setting["trees"])), row.measured["cells_placed"] or 0.0, row.measured["ceiling"] or 0.0)
                for row in rows
                if (row.setting["labels"], row.setting["depth"]) == (labels, depth)
                and row.setting["attack"] == HistogramDecoding.name
                and row.setting["columns"] == "shown"
            )
            if points:
                x, placed, ceiling = (list(column) for column in zip(*points, strict=True))
                curves.append(Curve(f"{labels}, depth {depth}", x, placed))
                curves.append(Curve(f"{labels}, depth {depth}: ceiling", x, ceiling, dashed=True))
    return Panel("vehicle", "trees", "share of cells", curves)


def _row(setup: Setup, found: Sequence[Decoded]) -> Row:
    widths = [one.widths for one in found if one.widths is not None]
    summary = (
        min_max("cells_placed", [one.placed for one in found])
        | min_max("ceiling", [one.ceiling for one in found])
        | min_max("placed_over_ceiling", [one.placed / one.ceiling if one.ceiling else None for one in found])
        | Summary(
            {
                "wrong_cells": float(sum(one.wrong for one in found)),
                "seeds": float(len(found)),
                "splits_unchanged": mean([one.same_splits for one in found]),
                "mean_width_by_routing": mean([one[0] for one in widths]),
                "mean_width_with_bins": mean([one[1] for one in widths]),
                "cells_in_their_interval": mean([one[2] for one in widths]),
                "cpu_seconds": mean([one.cpu_seconds for one in found]),
            }
        )
    )
    baseline = {"cells_placed": mean([one.baseline for one in found])}
    return Row(setup.shown, summary.figures, baseline=baseline, bands=summary.bands)
