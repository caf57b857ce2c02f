"""One gradient, solved: the size of the batch, its labels, what went into the first fully connected layer.

Every step is checked by what is left over. The rank has a gap, label counts make all equations fit to rounding, and two
starts that have nothing in common end at the same rows; with ReLU, zeros of the errors give the rows and the network
itself confirms each. Of more pictures than that is tried for, independent components say where the zeros are. Where one
of these fails, what is missing is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations, equations_of, start_from
from fedleak.attacks.networks.client_gradients import ClientGradient
from fedleak.attacks.networks.component_errors import component_errors
from fedleak.attacks.networks.component_rows import component_rows
from fedleak.attacks.networks.dense_top import DenseTop, smooth, sparse, top_of
from fedleak.attacks.networks.hidden_rows import HiddenRows, solved
from fedleak.attacks.networks.kinked_rows import KinkedRows, kinked_rows
from fedleak.attacks.networks.label_counts import LabelCounts, counts_of
from fedleak.attacks.networks.layer_factors import LayerFactors, factors_of
from fedleak.attacks.networks.row_distances import furthest, spread
from fedleak.attacks.networks.sparse_errors import sparse_errors
from fedleak.core.arrays import FloatArray, Value
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import outputs_of
from fedleak.models.layers import BatchNorm, Dropout, Flatten

STARTS = 4
FITS = 60.0  # squared residuals for an equation, in roundings: a sum of thousands of terms gathers several
AGREE = 1e-2  # of the rows' spread: what two starts may differ in
LARGEST = 32  # rows: beyond, K(K - 1) unknowns take minutes, and sets of units that are off for one row are rare
MOST_STARTS = 1_024
MOST_EXACT, MOST_NEAR = 128, 256  # pictures whose zeros are looked for, and that are taken apart at all: a minute each


@dataclass(frozen=True, eq=False)
class SolvedBatch(Value):
    """``hidden`` is None where nothing was found, and ``why`` says at which step. ``error``: of each row, relative to
    the spread of all rows, as rounding lets expect. ``agreeing``: starts that end at the same rows; with ReLU two ways,
    zeros and what the network computes, where they do."""

    why: str
    factors: LayerFactors | None = None
    counts: LabelCounts | None = None
    hidden: HiddenRows | None = None
    error: FloatArray | None = None
    agreeing: int = 0

    @property
    def fits(self) -> bool:
        return self.hidden is not None and self.hidden.misfit <= FITS and self.agreeing > 1


def solved_batch(seen: ClientGradient, rng: np.random.Generator) -> SolvedBatch:
    network, top = seen.network, top_of(seen.network)
    if any(isinstance(layer, BatchNorm | Dropout) for layer in network.layers):
        return SolvedBatch("the network has batch norm or dropout: rows do not go through it one by one")
    if top is None:
        return SolvedBatch("the network does not end in fully connected layers")
    kinked = sparse(top)
    if not smooth(top) and not kinked:
        return SolvedBatch("an activation after the first fully connected layer has kinks, and no zeros that tell rows")
    if kinked and top.layers[0].bias is None:
        return SolvedBatch("the first fully connected layer has no bias: zeros fix every row up to a factor alone")
    factors = factors_of(top.gradient_of(0, seen.values), seen.epsilon, seen.n_rows)
    if factors is None:
        return SolvedBatch(_no_rank(top, seen))
    equations, gradient = equations_of(top, factors, seen.values, seen.epsilon), top.gradient_of(0, seen.values)
    if factors.n_rows > LARGEST:
        return _of_many(seen.network, equations, gradient, rng)
    if kinked:
        return _by_zeros(equations, kinked_rows(equations, gradient, sparse_errors(factors, rng, MOST_STARTS), FITS))
    counts = counts_of(seen, factors.n_rows)
    if counts is None:
        return SolvedBatch("label counts do not come out whole: predictions depend on the rows too much", factors)
    return _tried(equations, counts, seen, rng)


def read_off(network: LayeredNetwork) -> bool:
    """The first fully connected layer takes the rows as they are."""
    return all(isinstance(layer, Flatten) for layer in network.layers[: network.first_linear])


def _of_many(
    network: LayeredNetwork, equations: Equations, gradient: FloatArray, rng: np.random.Generator
) -> SolvedBatch:
    """Of pictures that a layer with a bias takes as they are, and of nothing else: others have no components."""
    factors, shape = equations.factors, network.input_shape
    if len(shape) != 3 or not read_off(network) or equations.ones is None or factors.n_rows > MOST_NEAR:
        most = f"of more than {LARGEST} rows are not tried, of up to {MOST_NEAR} pictures into a layer with bias apart"
        return SolvedBatch(f"batches {most}; this has {factors.n_rows}", factors)
    found = None
    if sparse(equations.top) and factors.n_rows <= MOST_EXACT:
        found = kinked_rows(equations, gradient, component_errors(equations, shape, rng), FITS)
    if found is not None and found.confirmed.all():
        return _by_zeros(equations, found)
    near = component_rows(equations, shape, rng, found)
    if near is None:
        return SolvedBatch("the span of the rows has fewer independent components than rows", factors)
    confirmed = 0 if found is None else int(found.confirmed.sum())
    why = f"the network confirms {confirmed} of {factors.n_rows} rows; others are independent components, near at best"
    return SolvedBatch(why, factors, None, near, _expected_error(near))


def _by_zeros(equations: Equations, found: KinkedRows | None) -> SolvedBatch:
    """Label counts are those of the rows: no prediction has to be guessed."""
    if found is None:
        why = "too few errors with more zeros than chance has: units are on or off for most rows alike, or too few"
        return SolvedBatch(why, equations.factors)
    hidden, confirmed = found.hidden, int(found.confirmed.sum())
    why = (
        "" if found.confirmed.all() else f"the network confirms {confirmed} of {len(hidden.rows)} rows that zeros give"
    )
    counts = LabelCounts(np.bincount(hidden.labels, minlength=len(equations.top.layers[-1].weight)), 0.0)
    told = counts if found.confirmed.all() else None
    if not why and hidden.misfit > FITS:
        why = "gradients of later layers do not fit the rows to rounding"
    error = _expected_error(hidden)
    return SolvedBatch(why, equations.factors, told, hidden, error, 1 + int(found.confirmed.all()))


def _no_rank(top: DenseTop, seen: ClientGradient) -> str:
    outputs, inputs = top.layers[0].weight.shape
    size = "" if seen.n_rows is None else f" of {seen.n_rows} rows"
    return (
        f"the gradient of the first fully connected layer ({outputs} x {inputs}) has no rank below full, or not that "
        f"of the batch{size}: the batch is too large, rows repeat, or noise covers it"
    )


def _tried(equations: Equations, counts: LabelCounts, seen: ClientGradient, rng: np.random.Generator) -> SolvedBatch:
    """From starts that have nothing in common, until two agree at a residual that rounding explains."""
    found: list[HiddenRows] = []
    for _ in range(STARTS):
        drawn = _hidden_of(seen.network, rng.random((len(counts.labels), *seen.network.input_shape)))
        found.append(solved(equations, counts.labels, start_from(equations, drawn)))
        found.sort(key=lambda one: one.misfit)
        agreeing = sum(furthest(found[0].rows, found[0].labels, one.rows, one.labels) <= AGREE for one in found)
        if found[0].misfit <= FITS and (agreeing > 1 or len(found[0].rows) == 1):
            agreeing = max(2, agreeing)  # a single row has no unknown left
            break
    why = "" if found[0].misfit <= FITS else "no start fits the gradient to rounding: labels, or the search"
    error = _expected_error(found[0])
    return SolvedBatch(why, equations.factors, counts, found[0], error, agreeing)


def _hidden_of(network: LayeredNetwork, inputs: FloatArray) -> FloatArray:
    """What random inputs give the first fully connected layer."""
    stop = network.first_linear
    assert stop is not None
    return outputs_of(network, inputs, stop=stop).astype(np.float64).reshape(len(inputs), -1)


def _expected_error(found: HiddenRows) -> FloatArray:
    """Relative to the spread of the rows; a misfit says by how much more than rounding the gradient is off."""
    return np.asarray(found.deviation * np.sqrt(max(1.0, found.misfit)) / spread(found.rows))
