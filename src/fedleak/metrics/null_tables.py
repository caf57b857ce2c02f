"""Answers that tell nothing about single rows, aligned to the truth as the guess was: what symmetries alone give.

The guess with its rows in another order; where rows are matched, which undoes any order, whole rows from a population
with the same columns and correlations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.core.adversary import Symmetry
from fedleak.core.arrays import FloatArray, IntArray, flat_rows
from fedleak.metrics.alignment import aligned

MAX_PAIRED = 300  # rows whose pairs say how columns go together
MAX_COLUMNS = 500  # whose pairs are counted


def null_tables(
    answers: Sequence[FloatArray], true: FloatArray, up_to: frozenset[Symmetry], count: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """So many of them, of each candidate in turn."""
    if Symmetry.ROW_ORDER in up_to:
        population = Population(flat_rows(true))
        for _ in range(count):
            yield aligned(population.draw(rng).reshape(true.shape), true, up_to)
        return
    for number in range(count):
        answer = answers[number % len(answers)]
        yield aligned(answer[other_order(len(true), rng)], true, up_to)


def other_order(n: int, rng: np.random.Generator) -> IntArray:
    """An order in which no row is where it was."""
    cycle = rng.permutation(n)
    order = np.empty(n, dtype=np.int64)
    order[cycle] = np.roll(cycle, 1)
    return order


class Population:
    """Normal values with the table's rank correlations (Kendall's), each column put in the table's own values. The
    values are the truth's: a conservative baseline, which has all columns right and goes together as they do."""

    def __init__(self, table: FloatArray) -> None:
        self._ordered = np.sort(table, axis=0)
        self._root = _root(table)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """(rows, columns), as many rows as the table has."""
        normal = rng.standard_normal((len(self._ordered), self._root.shape[1])) @ self._root.T
        normal += 1e-9 * rng.standard_normal(normal.shape)  # copies of a column are told apart
        ranks = np.argsort(np.argsort(normal, axis=0), axis=0)
        return np.take_along_axis(self._ordered, ranks, axis=0)


def _root(table: FloatArray) -> FloatArray:
    """(columns, factors): what normal factors go through. Of a table as wide as pictures are, pairs of columns are too
    many, and more than its rows tell: there the factors are its own rows, in normal scores."""
    if table.shape[1] > MAX_COLUMNS:
        return np.asarray(_normal_scores(table[:MAX_PAIRED]).T / np.sqrt(min(len(table), MAX_PAIRED)))
    values, vectors = np.linalg.eigh(_latent_correlation(table[:MAX_PAIRED]))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _normal_scores(table: FloatArray) -> FloatArray:
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(table, axis=0) - 0.5) / len(table)))


def _latent_correlation(table: FloatArray) -> FloatArray:
    """Of normal values that have the same tau: sin(tau pi / 2), exact for columns without ties and for balanced bits
    (Kendall and Gibbons 1990, ch. 10)."""
    first, second = np.triu_indices(len(table), 1)
    signs = np.sign(table[first] - table[second])
    lengths = np.sqrt((signs**2).sum(axis=0))
    scaled = signs / np.where(lengths > 0, lengths, 1.0)
    latent = np.sin(np.pi / 2 * np.clip(scaled.T @ scaled, -1.0, 1.0))
    np.fill_diagonal(latent, 1.0)
    return np.asarray(latent)
