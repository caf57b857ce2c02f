"""Whether cells are named too precisely for luck: with two rows as with thousands."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial, inf

import numpy as np

from fedleak.core.adversary import Index, SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, flat_rows
from fedleak.metrics.learnt_means import anybody_names, chance_as_near
from fedleak.metrics.metric import Answered

FEWEST_CELLS = 2
MOST_COUNTED = 20  # rows whose orders are counted; of more, an order that is right is told by itself


def cells_by_luck(answered: Answered) -> float:
    """How likely all cells together are named so precisely by who knows no more than the best constants; 1 where too
    few of them are more than codes and counts, which anybody names."""
    spread = np.ptp(flat_rows(answered.truth.values), axis=0)
    return _chance(answered, slice(None), telling(answered), np.where(spread > 0, spread, 1.0))


def columns_by_luck(answered: Answered) -> list[float]:
    """The same of each column."""
    tried = telling(answered)
    return [_chance(answered, slice(at, at + 1), tried, np.ones(1)) for at in range(tried.shape[1])]


def _chance(answered: Answered, part: slice, tried: BoolArray, scale: FloatArray) -> float:
    true, counted = flat_rows(answered.truth.values)[:, part], flat_rows(answered.unknown)[:, part]
    constants = [named if named.shape[1] == 1 else named[:, part] for named in _best_constants(answered)]
    chances = []
    for answer in answered.answers:
        cells = flat_rows(answer)[:, part]
        told = counted & np.isfinite(cells)
        asked = told & tried[:, part]
        enough = asked.sum() >= max(FEWEST_CELLS, told.sum() / 2)
        off = [_distance(named, true, scale, asked) for named in (cells, *constants)] if enough else [1.0, 0.0]
        chances.append(chance_as_near(off[0], min(off[1:])))
    chance = float(np.mean(chances))
    return min(1.0, symmetry_choices(answered) * chance) if chance > 0 else chance


def _distance(named: FloatArray, true: FloatArray, scale: FloatArray, asked: BoolArray) -> float:
    return float(np.linalg.norm(((np.broadcast_to(named, true.shape) - true) / scale)[asked]))


def _best_constants(answered: Answered) -> Iterator[FloatArray]:
    """Blind answers, and constants that only the truth knows: of a column, of a row, of a round, of a diagonal."""
    true = flat_rows(answered.truth.values)
    yield from (blind.cells for blind in answered.blinds)
    if len(true) > 1:
        yield true.mean(axis=0, keepdims=True)
        yield np.median(true, axis=0, keepdims=True)
    if (true != true[:, :1]).any():  # of copies of one column, a row's mean is the secret itself
        yield true.mean(axis=1, keepdims=True)
    if true.shape[1] > 1:
        on_it = np.eye(*true.shape, dtype=np.bool_)
        yield np.where(on_it, true[on_it].mean(), true[~on_it].mean())
    kind = answered.guess.secret.kind
    if kind.indexed_by is Index.ROUND_AND_ROW:
        rounds = answered.truth.ids[:, 0]
        yield _group_means(true, rounds)
        if kind is SecretKind.RESIDUALS:  # two heaps, one a class: who tosses a coin for the label is near by luck
            yield _group_means(true, 2 * rounds + (true[:, 0] < 0))


def _group_means(cells: FloatArray, groups: IntArray) -> FloatArray:
    _, group = np.unique(groups, return_inverse=True)
    return np.asarray((np.bincount(group, weights=cells[:, 0]) / np.bincount(group))[group][:, None])


def telling(answered: Answered) -> BoolArray:
    """Cells, flat, whose value is no code, no declared constant, and of a size that no other cell of the column has."""
    true = flat_rows(answered.truth.values)
    found = ~anybody_names(true)
    for blind in answered.blinds:
        if not blind.by_row:
            found &= true != blind.cells
    for column in range(true.shape[1]):
        _, group, counts = np.unique(np.abs(true[:, column]), return_inverse=True, return_counts=True)
        found[:, column] &= counts[group] == 1
    return found


def symmetry_choices(answered: Answered) -> float:
    """Among how many answers alignment chose the nearest."""
    signs = 2 if Symmetry.GLOBAL_SIGN in answered.up_to else 1
    columns = answered.truth.values.shape[-1] if Symmetry.COLUMN_ORDER in answered.up_to else 1
    return signs * columns * (_orders(len(answered.truth.values)) if Symmetry.ROW_ORDER in answered.up_to else 1.0)


def _orders(n_rows: int) -> float:
    return float(factorial(n_rows)) if n_rows <= MOST_COUNTED else inf
