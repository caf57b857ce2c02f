"""Errors d_k of a large batch of pictures before ReLU: independent components say which units are off, zeros the rest.

A component is a picture to a few per cent (``picture_components``), and what a unit makes of it mostly has the right
sign: where it is far below zero the unit is off for that row and d_k is zero. More than K - 1 such units fix d_k, which
is then seen by its zeros at all the other units that are off (``sparse_vectors``). What was found is projected out of
the gradient, which leaves the span of the other rows alone: fewer components, that come apart better.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations
from fedleak.attacks.networks.picture_components import component_mixes
from fedleak.attacks.networks.sparse_errors import SeenErrors, SparseErrors, independent, merged, seen_errors
from fedleak.attacks.networks.sparse_vectors import distinct, fitted, improved, null_vector
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.layers import Shape

ROUNDS = 24
FEW_OFF = (1.05, 1.6)  # times K: units that are taken to be off, the furthest below zero first: with fewer errors,
MANY_OFF = (0.4, 0.6, 0.8)  # and as a share of those below zero: the furthest are off for other rows as well
SURE = 0.7  # of the most zeros that any vector has: most sums of two rows' errors have fewer
TAKEN = 0.75  # of those: some of them are sums all the same, and hide two rows as long as they are projected out


def component_errors(equations: Equations, shape: Shape, rng: np.random.Generator) -> Iterator[SparseErrors]:
    """Every time that K independent vectors are there and better ones have come."""
    seen, n_rows = seen_errors(equations.factors), equations.factors.n_rows
    kept, chosen = np.zeros((0, n_rows)), np.zeros((0, n_rows))
    for number in range(1, ROUNDS + 1):
        clear = _clear(seen, chosen, rng)
        mixes = component_mixes(equations.factors, shape, others(seen, clear), rng)
        found = _off_together(seen, mixes @ equations.folded[seen.alive].T)
        better = [improved(seen.span, one, clear) for one in found]
        kept = merged(seen.span, np.concatenate([kept, np.array(better).reshape(-1, n_rows)]))
        among = independent(kept)
        if len(among) == n_rows and not np.array_equal(among, chosen):
            yield seen.sparse(among, number)
        chosen = among


def _clear(seen: SeenErrors, chosen: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Most of those that have about as many zeros as any, drawn anew each time."""
    counts = seen.span.zeros(chosen).sum(axis=1)
    taken = rng.random(len(chosen)) < TAKEN
    return np.asarray(chosen[taken & (counts >= SURE * counts.max(initial=0))][: chosen.shape[1] - 1])


def others(seen: SeenErrors, clear: FloatArray) -> FloatArray:
    """(directions, K): an orthonormal basis of the mixes of all rows whose errors are not among ``clear``. Where those
    are projected out of the errors, their rows are gone."""
    beside = np.linalg.svd(clear)[2][len(clear) :] if len(clear) else np.eye(clear.shape[1])
    return np.asarray(np.linalg.svd(beside @ seen.rows, full_matrices=False)[2])


def _off_together(seen: SeenErrors, outputs: FloatArray) -> FloatArray:
    """For each component the vectors that are zero where it is far below zero, and at rounding."""
    lines, n_rows = seen.span.lines, seen.span.basis.shape[1]
    starts = np.array([_nearly_null(lines[units]) for one in outputs for units in _furthest_below(one, n_rows)])
    found = np.concatenate([starts, fitted(seen.span, starts)])  # near zeros may be none, and spoil what was exact
    found = found[seen.span.zeros(found).sum(axis=1) >= seen.span.enough]
    lines = seen.span.basis / seen.span.noise[:, None]
    again = [null_vector(lines[zero]) for zero in seen.span.zeros(found[distinct(found)])]
    return np.array(again).reshape(-1, n_rows)


def _furthest_below(outputs: FloatArray, n_rows: int) -> list[IntArray]:
    """Sets of units that are taken to be off, each with n_rows of them at least."""
    order, n_below = np.argsort(outputs), int((outputs < 0).sum())
    sizes = [times * n_rows for times in FEW_OFF] + [share * n_below for share in MANY_OFF if share * n_below > n_rows]
    return [order[: int(size) + 1] for size in sizes]


def _nearly_null(lines: FloatArray) -> FloatArray:
    """By squares: faster, and a start need not be exact."""
    return np.asarray(np.linalg.eigh(lines.T @ lines)[1][:, 0])
