"""Whether an answer tells something about single rows that no blind answer does: column by column, and all together.

Luck is what the guess scores with its rows in another order, or with own columns in another rule, or what comes near
for no reason; where a blind answer differs from row to row (a regression on known cells), luck is to do better than it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Index, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray
from fedleak.core.finding import Score
from fedleak.metrics.cell_metrics import real_valued
from fedleak.metrics.class_luck import parts_by_luck
from fedleak.metrics.interval_score import bounds_of, interval_scores
from fedleak.metrics.learnt_means import means_by_luck
from fedleak.metrics.metric import Answered
from fedleak.metrics.near_cells import cells_by_luck, columns_by_luck
from fedleak.metrics.picture_luck import are_pictures, pictures_by_luck
from fedleak.metrics.row_orders import CLOSE, MOST_ORDERS, Measured, measures
from fedleak.metrics.row_signal import PAIRS, shares, signal_of
from fedleak.metrics.tails import tail

MATCHED = frozenset({Symmetry.ROW_ORDER, Symmetry.ROTATION})  # what comes near by being matched


@dataclass(frozen=True)
class RowTest:
    """``about``: a column's name; None for the whole answer. ``gain`` is what must be above 0 over several runs as
    well: luck that all rows of a run share is no luck of rows. None where the chance holds for each run by itself."""

    about: str | None
    measure: str
    p_value: float
    gain: float | None = None


def row_tests(answered: Answered, score: Score, *, rng: np.random.Generator) -> tuple[RowTest, ...]:
    """``score`` decides where it says itself how likely luck is: of classes."""
    if score.p_value is not None or not real_valued(answered.guess.secret.kind, answered.truth):
        return (_of_classes(answered, score),)
    names = named_columns(answered)
    signal = signal_of(answered)
    found = list(measures(signal, answered.up_to, rng))
    tests = [test for measured in found for test in _by_order(measured, names)]
    if answered.guess.secret.kind is SecretKind.RANGES:
        if answered.guess.intervals is not None:
            least = found[0].beside if signal.own is None else [found[0].chance(place) for place in range(len(names))]
            tests += _by_interval(answered, np.asarray(least), names, rng)
    elif are_pictures(answered) and Symmetry.ROTATION not in answered.up_to:
        tests.append(RowTest(None, "precision", pictures_by_luck(answered, rng)))
    elif not answered.up_to & MATCHED or len(answered.truth.values) == 1:  # one row is matched to itself
        tests += _by_precision(answered, names)
    elif Symmetry.ROTATION not in answered.up_to:  # of few rows, exact cells are no luck in any order of them
        tests.append(RowTest(None, "precision", cells_by_luck(answered)))
    return tuple(tests)


def _of_classes(answered: Answered, score: Score) -> RowTest:
    chance = chance_of_score(score)
    if Symmetry.CLASS_NAMES in answered.up_to:
        chance = max(chance, parts_by_luck(answered))
    return RowTest(None, score.metric, chance, score.gain)


def named_columns(answered: Answered) -> tuple[str, ...]:
    """None where rows are no table, or its columns are other rows."""
    return answered.truth.columns if answered.truth.is_table and answered.guess.secret.kind not in PAIRS else ()


def chance_of_score(score: Score) -> float:
    """Of a metric that brings an interval alone: as if its figures were normal."""
    from scipy.special import ndtr

    if score.p_value is not None:
        return score.p_value
    low, high = score.gain_ci or (score.ci[0] - score.baseline, score.ci[1] - score.baseline)
    half = (high - low) / 2
    if half <= 0:
        return 0.0 if score.beats_baseline else 1.0
    return float(ndtr(-1.959964 * score.gain / half))


def _by_order(measured: Measured, names: tuple[str, ...]) -> Iterator[RowTest]:
    if len(names) != 1:
        yield RowTest(None, measured.name, measured.chance_together(), float(measured.gain.mean()))
    for column, name in enumerate(names):
        yield RowTest(name, measured.name, measured.chance(column), float(measured.gain[column]))


def _by_precision(answered: Answered, names: tuple[str, ...]) -> Iterator[RowTest]:
    if not names:
        yield RowTest(None, "precision", cells_by_luck(answered))
        return
    means = means_by_luck(answered.answers, answered.truth, answered.unknown, answered.blinds, answered.up_to)
    # Of what a row has in every round, the mean is one draw of few labels, however many cells there are.
    has_mean = answered.guess.secret.kind.indexed_by is not Index.ROUND_AND_ROW
    for name, near, mean in zip(names, columns_by_luck(answered), means.tolist(), strict=True):
        yield RowTest(name, "precision", near)
        if has_mean:
            yield RowTest(name, "mean", mean)


def _by_interval(
    answered: Answered, least: FloatArray, names: tuple[str, ...], rng: np.random.Generator
) -> Iterator[RowTest]:
    """Ranges that suit their rows better than other rows. Their values go further than a regression, or than own
    columns by luck: ``least`` is how likely those alone do so, of each column."""
    truth, unknown = answered.truth, answered.unknown
    low, high = bounds_of(answered)
    value = -shares(interval_scores(low, high, truth), unknown)
    orders = [rng.permutation(len(low)) for _ in range(MOST_ORDERS if len(low) > 1 else 0)]
    drawn = -np.array([shares(interval_scores(low[one], high[one], truth), unknown) for one in orders])
    if not len(drawn):
        return
    mean = drawn.mean(axis=0)
    for column, name in enumerate(names):
        luck = tail(float(value[column]) - CLOSE, drawn[:, column])
        yield RowTest(name, "interval", max(luck, float(least[column])), float((value - mean)[column]))
