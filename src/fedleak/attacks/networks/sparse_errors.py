"""Errors d_k of a layer before ReLU, one after the other, out of the space that its gradient shows.

Where a unit is off for a row, d_k is zero there: of all vectors in the span of d_1 ... d_K, these have the most zeros
(SPEAR, arXiv 2403.03945, which draws sets of K - 1 units and hopes that all are off for one row: 2^(K - 1) / K sets a
hit). Here units that are on for few rows are preferred (``sparse_vectors``), and what was found makes the rest easier:
where d_1 is zero the gradient holds the other K - 1 rows alone, and units that are off for one row are mostly off for
others. Zeros are counted at the level of rounding, and the vectors with the most of them that are independent are
taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.attacks.networks.sparse_vectors import ErrorSpan, distinct, drawn, fitted, improved, searched
from fedleak.core.arrays import BoolArray, FloatArray, Value

AT_ONCE = 64  # starts
DRAWN_ALONE = 2048  # sets that are looked at without a search beside every 64 starts
MOST_TAKEN = 3  # vectors, where all of which are zero the others are looked for
IMPROVED = 1024  # new vectors a time that others are taken off
MOST_KEPT = 4  # times K vectors are remembered
NEW = 1e-3  # of its length: what a vector must have outside of the span of those with more zeros


@dataclass(frozen=True, eq=False)
class SparseErrors(Value):
    """``errors``: (outputs, K), each up to a factor, with zeros in the place of rounding."""

    errors: FloatArray
    n_starts: int


@dataclass(frozen=True, eq=False)
class SeenErrors(Value):
    """The span of the errors, over the units that are on for some row."""

    span: ErrorSpan
    alive: BoolArray  # (outputs,): these units
    rows: FloatArray  # (K, K): mixed = span.basis @ rows

    def sparse(self, found: FloatArray, n_starts: int) -> SparseErrors:
        """(K, K) vectors of the span as errors of all units."""
        errors = np.zeros((len(self.alive), len(found)))
        errors[self.alive] = np.where(self.span.zeros(found), 0.0, found @ self.span.basis.T).T
        return SparseErrors(errors, n_starts)


def seen_errors(factors: LayerFactors) -> SeenErrors:
    alive = np.any(factors.mixed != 0, axis=1)
    basis, sizes, right = np.linalg.svd(factors.mixed[alive], full_matrices=False)
    return SeenErrors(ErrorSpan(basis, sizes, factors.noise[alive]), alive, sizes[:, None] * right)


def sparse_errors(factors: LayerFactors, rng: np.random.Generator, most: int) -> Iterator[SparseErrors]:
    """Every time that K independent vectors are there and better ones have come, at most ``most`` starts in all."""
    seen = seen_errors(factors)
    span, n_rows = seen.span, factors.n_rows
    kept, chosen = np.zeros((0, n_rows)), np.zeros((0, n_rows))
    for n_starts in range(AT_ONCE, most + 1, AT_ONCE):
        found = _looked_for(span, chosen, rng)
        new = found[distinct(found, kept)[:IMPROVED]]
        better = np.array([improved(span, one, chosen) for one in new]).reshape(-1, n_rows)
        kept = merged(span, np.concatenate([kept, better]))
        among = independent(kept)
        if len(among) == n_rows and not np.array_equal(among, chosen):
            yield seen.sparse(among, n_starts)
        chosen = among


def _looked_for(span: ErrorSpan, chosen: FloatArray, rng: np.random.Generator) -> FloatArray:
    """In the whole space, or in what is left of it where some of the chosen are zero: every other time."""
    n_rows = span.basis.shape[1]
    n_taken = int(rng.integers(MOST_TAKEN + 1)) if len(chosen) else 0
    taken = chosen[rng.permutation(len(chosen))[: min(n_taken, n_rows - 2)]]
    part = span.without(taken) if len(taken) else None
    if part is None:
        return _tried(span, rng)
    rest, directions = part
    return _tried(rest, rng) @ directions.T


def _tried(span: ErrorSpan, rng: np.random.Generator) -> FloatArray:
    alone = drawn(span, rng, DRAWN_ALONE)
    return fitted(span, np.concatenate([searched(span, drawn(span, rng, AT_ONCE)), alone]))


def merged(span: ErrorSpan, found: FloatArray) -> FloatArray:
    """Those with more zeros than chance has, each once, the most zeros first."""
    counts = span.zeros(found).sum(axis=1)
    order = np.argsort(-counts, kind="stable")
    ordered = found[order[counts[order] >= span.enough]]
    return np.asarray(ordered[distinct(ordered)[: MOST_KEPT * found.shape[1]]])


def independent(kept: FloatArray) -> FloatArray:
    """In their order, each that is not in the span of those before it."""
    taken = np.zeros((kept.shape[1], 0))
    chosen = []
    for one in kept:
        outside = one - taken @ (taken.T @ one)
        if np.linalg.norm(outside) > NEW:
            chosen.append(one)
            taken = np.column_stack([taken, outside / np.linalg.norm(outside)])
    return np.array(chosen).reshape(-1, kept.shape[1])
