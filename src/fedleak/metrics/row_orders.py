"""What an answer scores with its rows in other orders, and by other rules of the adversary's own columns: the luck
that it is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fedleak.core.adversary import Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, Value
from fedleak.metrics.alignment import aligned
from fedleak.metrics.null_tables import Population
from fedleak.metrics.other_rules import OtherRules, row_orders, unexplained
from fedleak.metrics.row_signal import Signal, correlations, hits, mean_of, shares, standardised
from fedleak.metrics.tails import fewest_shuffles, mean_tail, tail

FEWEST_ORDERS, MOST_ORDERS = 200, 400
MAX_CELLS = 4 * 10**7  # over all orders
ALIGNED_ORDERS = 40  # where every order is aligned anew
BLOCK = 10**6  # cells that are measured at once
CLOSE = 1e-9  # figures that differ by less are equal
EXPLAINED = 1e-6  # what own columns leave less of than this share, they leave nothing of


@dataclass(frozen=True, eq=False)
class Measured(Value):
    """One measure of all columns: of the answer, of every order, and how likely rows beat by-row blind answers so."""

    name: str
    value: FloatArray  # (columns,)
    drawn: FloatArray  # (orders, columns)
    gain: FloatArray  # (columns,) over the best blind answer
    beside: FloatArray  # (columns,)
    beside_together: float
    least: FloatArray  # (columns,) the smallest chance there is
    needs_gain: bool

    def chance(self, column: int) -> float:
        luck = tail(float(self.value[column]) - CLOSE, self.drawn[:, column], float(self.least[column]))
        return max(luck, float(self.beside[column])) if self.gain[column] > 0 or not self.needs_gain else 1.0

    def chance_together(self) -> float:
        luck = tail(float(self.value.mean()) - CLOSE, self.drawn.mean(axis=1), float(self.least.min()))
        return max(luck, self.beside_together) if self.gain.mean() > 0 or not self.needs_gain else 1.0


def measures(signal: Signal, up_to: frozenset[Symmetry], rng: np.random.Generator) -> Iterator[Measured]:
    """Correlation, and the share of cells that are hit."""
    true, counted = signal.true, signal.counted
    tables = list(_drawn(signal, up_to, rng))
    least = np.array([_least(column) for column in true.T])
    value = mean_of([correlations(answer, true, counted) for answer in signal.answers])
    drawn = _stacked([correlations(block, true, counted) for block in tables], len(value))
    own = [(one, correlations(one, true, counted)) for one in signal.blinds]
    best = np.max([np.zeros(len(value)), *(found for _, found in own)], axis=0)
    ahead = [_ahead(signal, blind) for blind in signal.blinds]
    yield Measured("correlation", value, drawn, value - best, *_beside(ahead, len(value)), least, needs_gain=False)
    if signal.own is not None and not up_to and counted.all():  # known cells would stand in what is left of others
        yield _beyond(signal, signal.own, least, rng)
    if signal.margin is not None:
        yield _hits(signal, signal.margin, tables, least)


def _beyond(signal: Signal, own: FloatArray, least: FloatArray, rng: np.random.Generator) -> Measured:
    """The correlation of what own columns leave unexplained, of answer and truth: no rule of theirs brings it about.
    Rows in another order are freed of own columns again, or there would be more ways to differ than there are."""
    answers = tuple(unexplained(answer, own) for answer in signal.answers)
    left = replace(signal, true=unexplained(signal.true, own), answers=answers)
    value = mean_of([correlations(answer, left.true, left.counted) for answer in answers])
    moved = _blocks(left, [partial(_moved, answer, rng=rng) for answer in answers], FEWEST_ORDERS)
    drawn = _stacked([correlations(unexplained(one, own), left.true, left.counted) for one in moved], len(value))
    blinds = [rest for blind in signal.blinds if (rest := unexplained(blind, own)).std() > EXPLAINED * blind.std()]
    best = np.max([np.zeros(len(value)), *(correlations(one, left.true, left.counted) for one in blinds)], axis=0)
    beside = _beside([_ahead(left, blind) for blind in blinds], len(value))
    return Measured("correlation beyond own columns", value, drawn, value - best, *beside, least, needs_gain=False)


def _hits(signal: Signal, margin: FloatArray, tables: list[FloatArray], least: FloatArray) -> Measured:
    true, counted = signal.true, signal.counted

    def hit(cells: FloatArray) -> BoolArray:
        return hits(cells, true, margin, counted)

    rows = mean_of([hit(answer).astype(np.float64) for answer in signal.answers])
    value = shares(rows, counted)
    drawn = _stacked([shares(hit(block), counted) for block in tables], len(value))
    blinds = [shares(hit(cells), counted) for cells in (*signal.constants, *signal.blinds)]
    best = np.max([np.zeros(len(value)), *blinds], axis=0)
    ahead = [np.where(counted, rows - hit(blind), 0.0) for blind in signal.blinds]
    return Measured("hits", value, drawn, value - best, *_beside(ahead, len(value)), least, needs_gain=True)


def _ahead(signal: Signal, blind: FloatArray) -> FloatArray:
    """Row by row, what an answer adds to the correlation beyond a blind one."""
    parts = []
    for answer in signal.answers:
        first, second = standardised(answer, signal.true, signal.counted)
        told = signal.counted & np.isfinite(answer)
        other, _ = standardised(np.where(told, blind, np.nan), signal.true, signal.counted)
        parts.append(second * (first - other))
    return mean_of(parts)


def _beside(ahead: list[FloatArray], n_columns: int) -> tuple[FloatArray, float]:
    """How likely rows are so far ahead of each blind answer by luck, the worst of them: by column, and together."""
    if not ahead:
        return np.zeros(n_columns), 0.0
    by_column = [[mean_tail(column) for column in rows.T] for rows in ahead]
    return np.max(by_column, axis=0), max(mean_tail(rows.mean(axis=1)) for rows in ahead)


def _stacked(blocks: list[FloatArray], n_columns: int) -> FloatArray:
    return np.concatenate([np.empty((0, n_columns)), *blocks])


def _least(column: FloatArray) -> float:
    return fewest_shuffles(np.unique(column, return_counts=True)[1])


def _drawn(signal: Signal, up_to: frozenset[Symmetry], rng: np.random.Generator) -> Iterator[FloatArray]:
    """Blocks of tables."""
    true = signal.true
    if len(true) < 2:
        return
    if Symmetry.ROW_ORDER in up_to:
        population = Population(true)
        yield np.array([aligned(population.draw(rng), true, up_to) for _ in range(ALIGNED_ORDERS // 2)])
        return
    draws = [_draws_of(signal, answer, rng) for answer in signal.answers]
    for block in _blocks(signal, draws, ALIGNED_ORDERS if up_to else _n_orders(true)):
        yield np.array([aligned(table, true, up_to) for table in block]) if up_to else block


def _n_orders(true: FloatArray) -> int:
    return int(np.clip(MAX_CELLS // max(true.size, 1), FEWEST_ORDERS, MOST_ORDERS))


Draws = Callable[[int], FloatArray]  # so many tables of one answer


def _blocks(signal: Signal, draws: Sequence[Draws], n_tables: int) -> Iterator[FloatArray]:
    """So many tables over all answers, each as often as the others, as many at once as are worth it."""
    at_once = max(1, BLOCK // max(signal.true.size, 1))
    for place, draw in enumerate(draws):
        count = len(range(place, n_tables, len(draws)))
        yield from (draw(min(at_once, count - first)) for first in range(0, count, at_once))


def _draws_of(signal: Signal, answer: FloatArray, rng: np.random.Generator) -> Draws:
    if signal.own is not None:
        return partial(OtherRules(answer, signal.own).draw, rng=rng)
    return partial(_moved, answer, rng=rng, both_sides=signal.both_sides)


def _moved(answer: FloatArray, count: int, rng: np.random.Generator, *, both_sides: bool = False) -> FloatArray:
    orders = row_orders(count, len(answer), rng)
    return answer[orders[:, :, None], orders[:, None, :]] if both_sides else answer[orders]
