"""Errors d_k of a layer before ReLU, one after the other, out of the space that its gradient shows.

Where a unit is off for a row, d_k is zero there: of all vectors in the span of d_1 ... d_K, these have the most zeros
(SPEAR, arXiv 2403.03945, which draws sets of K - 1 units and hopes that all are off for one row: 2^(K - 1) / K sets a
hit). Here vectors with many zeros are searched for as sparsely used dictionaries are learnt (SPEAR++, 2510.24200):
weighted least squares, |v|^(1/2) in the place of the number of units that are on, from random starts. Zeros are then
counted at the level of rounding, and the vectors with the most of them that are independent are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.core.arrays import BoolArray, FloatArray, Value

AT_ONCE = 64  # starts
STEPS = 40  # of one start
COARSE, FINE = 0.3, 1e-5  # of a unit's size: what counts as zero at the first and at the last step
POWER = 0.5
NEARLY = 10 * FINE  # of a unit's size: what a search may leave of a zero
ROUNDINGS = 30.0  # that a zero may be off
BEYOND_CHANCE = 4  # zeros more than the K - 1 that any vector of the span can have
MOST_KEPT = 4  # times K vectors are remembered
SAME = 1e-6  # 1 - cosine of two vectors that are one
NEW = 1e-3  # of its length: what a vector must have outside of the span of those with more zeros


@dataclass(frozen=True, eq=False)
class SparseErrors(Value):
    """``errors``: (outputs, K), each up to a factor, with zeros in the place of rounding."""

    errors: FloatArray
    n_starts: int


@dataclass(frozen=True, eq=False)
class _Span(Value):
    """An orthonormal basis of the span of d_1 ... d_K over the units that are on for some row."""

    basis: FloatArray  # (units, K)
    sizes: FloatArray  # (K,): singular values of the gradient
    noise: FloatArray  # (units,)

    @property
    def lines(self) -> FloatArray:
        """Rows of the basis, all of length 1: where something is zero does not depend on it."""
        return np.asarray(self.basis / np.linalg.norm(self.basis, axis=1, keepdims=True))

    def zeros(self, found: FloatArray) -> BoolArray:
        """(vectors, units): as near to zero as rounding of the gradient explains."""
        rounding = np.linalg.norm(found / self.sizes, axis=1)[:, None] * self.noise
        return np.asarray(np.abs(found @ self.basis.T) <= ROUNDINGS * rounding)


def sparse_errors(factors: LayerFactors, rng: np.random.Generator, most: int) -> Iterator[SparseErrors]:
    """Every time that K independent vectors are there and better ones have come, at most ``most`` starts in all."""
    alive = np.any(factors.mixed != 0, axis=1)
    basis, sizes, _ = np.linalg.svd(factors.mixed[alive], full_matrices=False)
    span, n_rows = _Span(basis, sizes, factors.noise[alive]), factors.n_rows
    kept, chosen = np.zeros((0, n_rows)), np.zeros((0, n_rows))
    for n_starts in range(AT_ONCE, most + 1, AT_ONCE):
        searched = _searched(span, _starts(chosen, n_rows, rng))
        kept = _merged(span, np.concatenate([kept, _fitted(span, searched)]))
        better = _independent(kept)
        if len(better) == n_rows and not np.array_equal(better, chosen):
            errors = np.zeros(factors.mixed.shape)
            errors[alive] = np.where(span.zeros(better), 0.0, better @ span.basis.T).T
            yield SparseErrors(errors, n_starts)
        chosen = better


def _starts(chosen: FloatArray, n_rows: int, rng: np.random.Generator) -> FloatArray:
    """At right angles to what is there, so that the others are found sooner; at random once all are."""
    drawn = rng.standard_normal((AT_ONCE, n_rows))
    if 0 < len(chosen) < n_rows:
        taken = np.linalg.qr(chosen.T)[0]
        drawn = drawn - (drawn @ taken) @ taken.T
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _searched(span: _Span, found: FloatArray) -> FloatArray:
    """Iteratively reweighted least squares; what counts as zero shrinks from step to step."""
    lines, n_rows = span.lines, found.shape[1]
    squares = (lines[:, :, None] * lines[:, None, :]).reshape(len(lines), -1)
    for small in np.geomspace(COARSE, FINE, STEPS):
        weights = ((found @ lines.T) ** 2 + small**2) ** (POWER / 2 - 1)
        normal = (weights @ squares).reshape(-1, n_rows, n_rows)
        found = np.linalg.solve(normal, found[:, :, None])[:, :, 0]
        found = found / np.linalg.norm(found, axis=1, keepdims=True)
    return found


def _fitted(span: _Span, found: FloatArray) -> FloatArray:
    """What the near zeros of each make exactly zero; those with no more of them than chance has are left out."""
    near = np.abs(found @ span.lines.T) <= NEARLY
    lines = span.basis / span.noise[:, None]
    many = near[near.sum(axis=1) >= found.shape[1] - 1 + BEYOND_CHANCE]
    return np.array([np.linalg.svd(lines[off], full_matrices=False)[2][-1] for off in many]).reshape(-1, found.shape[1])


def _merged(span: _Span, found: FloatArray) -> FloatArray:
    """Those with more zeros than chance has, each once, the most zeros first."""
    counts = span.zeros(found).sum(axis=1)
    order = np.argsort(-counts, kind="stable")
    kept: list[FloatArray] = []
    for one in found[order[counts[order] >= found.shape[1] - 1 + BEYOND_CHANCE]]:
        if len(kept) == MOST_KEPT * found.shape[1]:
            break
        if not kept or 1 - np.abs(np.array(kept) @ one).max() > SAME:
            kept.append(one)
    return np.array(kept).reshape(-1, found.shape[1])


def _independent(kept: FloatArray) -> FloatArray:
    """In their order, each that is not in the span of those before it."""
    taken = np.zeros((kept.shape[1], 0))
    chosen = []
    for one in kept:
        outside = one - taken @ (taken.T @ one)
        if np.linalg.norm(outside) > NEW:
            chosen.append(one)
            taken = np.column_stack([taken, outside / np.linalg.norm(outside)])
    return np.array(chosen).reshape(-1, kept.shape[1])
