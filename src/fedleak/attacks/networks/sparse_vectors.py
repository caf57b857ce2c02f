"""Vectors with many zeros in a space: where they are looked for, and how one is made of another.

A unit that is on for few rows of a batch has a short row in an orthonormal basis of the errors (its leverage). Sets of
K - 1 such units are all off for one row far more often than sets of any units: one in ten where it would be one in a
million. The vector that is zero at such a set is a start; reweighted least squares, with |v|^(1/2) in the
place of the number of units that are on, go on from there (as sparsely used dictionaries are learnt, SPEAR++,
2510.24200).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, Value

POOLS = (2, 3, 4, 6, 8)  # times K: units of least leverage that sets are drawn from
STEPS = 40  # of one search
COARSE, FINE = 0.3, 1e-5  # of a unit's size: what counts as zero at the first and at the last step
POWER = 0.5
NEARLY = 10 * FINE  # of a unit's size: what a search may leave of a zero
ROUNDINGS = 30.0  # that a zero may be off
BEYOND_CHANCE = 4  # zeros more than the K - 1 that any vector of the span can have
SAME = 1e-6  # 1 - cosine of two vectors that are one
MOST_SWEEPS = 24  # multiples of others that are taken off one after the other
SHORTEST = 1e-9  # of the basis: a unit whose row is shorter says nothing
FEWEST = 2  # times as many units as rows
REPEATING = (1e-13, 1e-9)  # units may repeat each other exactly: moved so far, no set is singular
SHOWN = 1e-6  # of the basis: directions that are weaker at some units do not show there


@dataclass(frozen=True, eq=False)
class ErrorSpan(Value):
    """An orthonormal basis of the span of d_1 ... d_K over the units that are on for some row."""

    basis: FloatArray  # (units, K)
    sizes: FloatArray  # (K,): singular values of the gradient
    noise: FloatArray  # (units,)

    @property
    def lines(self) -> FloatArray:
        """Rows of the basis, all of length 1: where something is zero does not depend on it."""
        return np.asarray(self.basis / np.linalg.norm(self.basis, axis=1, keepdims=True))

    @property
    def enough(self) -> int:
        """Zeros that no vector has by chance."""
        return int(self.basis.shape[1]) - 1 + BEYOND_CHANCE

    def zeros(self, found: FloatArray) -> BoolArray:
        """(vectors, units): as near to zero as rounding of the gradient explains."""
        rounding = np.linalg.norm(found / self.sizes, axis=1)[:, None] * self.noise
        return np.asarray(np.abs(found @ self.basis.T) <= ROUNDINGS * rounding)

    def without(self, taken: FloatArray) -> tuple[ErrorSpan, FloatArray] | None:
        """What is left of the space where all of these vectors are zero, and (K, rest) its directions: there the rows
        that they belong to are not in the gradient. None where the units left are too few or do not show all others."""
        rest = np.linalg.svd(taken)[2][len(taken) :].T
        reduced = self.basis @ rest
        off = self.zeros(taken).all(axis=0) & (np.linalg.norm(reduced, axis=1) > SHORTEST)
        if off.sum() < FEWEST * rest.shape[1] or np.linalg.svd(reduced[off], compute_uv=False)[-1] <= SHOWN:
            return None
        return replace(self, basis=reduced[off], noise=self.noise[off]), rest


def drawn(span: ErrorSpan, rng: np.random.Generator, count: int) -> FloatArray:
    """Vectors that are zero at sets of K - 1 units of low leverage, about as many for every pool."""
    lines, n_rows = span.lines, span.basis.shape[1]
    order = np.argsort((np.linalg.qr(span.basis)[0] ** 2).sum(axis=1))
    found = []
    for times in POOLS:
        size = min(times * n_rows, len(order))
        picked = np.argsort(rng.random((count // len(POOLS) + 1, size)), axis=1)[:, : n_rows - 1]
        found.append(_null_vectors(lines[order[picked]], rng))
    return np.concatenate(found)[:count]


def _null_vectors(sets: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(sets, K): of sets that leave more than one direction open, any of these: a sum of few rows' errors."""
    n_sets, _, n_rows = sets.shape
    square = np.concatenate([sets, rng.standard_normal((n_sets, 1, n_rows))], axis=1)
    right = np.zeros((n_sets, n_rows, 1))
    right[:, -1] = 1.0
    for apart in REPEATING:
        square += apart * rng.standard_normal(square.shape)
        try:
            return _unit(np.linalg.solve(square, right)[:, :, 0])
        except np.linalg.LinAlgError:  # so many repeat each other that the last bits are the same again
            continue
    return np.zeros((0, n_rows))


def searched(span: ErrorSpan, found: FloatArray) -> FloatArray:
    """Iteratively reweighted least squares; what counts as zero shrinks from step to step."""
    lines, n_rows = span.lines, found.shape[1]
    squares = (lines[:, :, None] * lines[:, None, :]).reshape(len(lines), -1)
    for small in np.geomspace(COARSE, FINE, STEPS):
        weights = ((found @ lines.T) ** 2 + small**2) ** (POWER / 2 - 1)
        normal = (weights @ squares).reshape(-1, n_rows, n_rows)
        found = _unit(np.linalg.solve(normal, found[:, :, None])[:, :, 0])
    return found


def fitted(span: ErrorSpan, found: FloatArray) -> FloatArray:
    """What the near zeros of each make exactly zero; those with no more of them than chance has are left out."""
    near = np.abs(found @ span.lines.T) <= NEARLY
    many = near.sum(axis=1) >= span.enough
    near = near[many][distinct(found[many])]
    lines = span.basis / span.noise[:, None]
    return np.array([null_vector(lines[off]) for off in near]).reshape(-1, found.shape[1])


def null_vector(lines: FloatArray) -> FloatArray:
    """Of length 1, the least that lines make of any."""
    return np.asarray(np.linalg.svd(lines, full_matrices=False)[2][-1])


def distinct(found: FloatArray, known: FloatArray | None = None) -> list[int]:
    """Positions of vectors, the first of each that are one up to a factor; those that are known left out."""
    kept: list[int] = []
    unknown = np.ones(len(found), dtype=bool)
    if known is not None and len(known) and len(found):
        unknown = 1 - np.abs(found @ known.T).max(axis=1) > SAME
    for place in np.flatnonzero(unknown).tolist():
        if not kept or 1 - np.abs(found[kept] @ found[place]).max() > SAME:
            kept.append(place)
    return kept


def improved(span: ErrorSpan, one: FloatArray, others: FloatArray) -> FloatArray:
    """The vector less multiples of others, as long as each brings more zeros: sums of two rows' errors come apart so,
    and what was found where others are zero gets its part along them."""
    if not len(others):
        return one
    count = int(span.zeros(one[None]).sum())
    made = np.where(span.zeros(others), np.nan, others @ span.basis.T).T
    for _ in range(MOST_SWEEPS):
        tried = _unit(one - _agreed(made, span.basis @ one)[:, None] * others)
        counts = span.zeros(tried).sum(axis=1)
        if counts.max(initial=0) <= count:
            break
        one, count = tried[counts.argmax()], int(counts.max())
    return one


def _agreed(made: FloatArray, own: FloatArray) -> FloatArray:
    """Of each of the others, the multiple that most units agree on, where it is not zero."""
    ratios = np.sort(own[:, None] / made, axis=0)  # what is not a number comes last
    window = ratios[BEYOND_CHANCE:] - ratios[:-BEYOND_CHANCE]
    start = np.where(np.isnan(window), np.inf, window).argmin(axis=0)
    return np.asarray(np.nan_to_num(ratios[start + BEYOND_CHANCE // 2, np.arange(made.shape[1])]))


def _unit(found: FloatArray) -> FloatArray:
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-300))
