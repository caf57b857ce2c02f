"""One update of several local steps, solved: how many rows are in it, their labels, and the rows themselves.

The rank of the first layer's part says whether all steps went over one batch or each over another. Rows then come out
of their zeros, with ReLU, or of searches from random starts; the order of the steps, where batches differ, comes with
them. All of that is a proposal: what is told as fitting is rows from which local training, run again, gives the whole
update to the rounding of its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from fedleak.attacks.networks.client_updates import ClientUpdate
from fedleak.attacks.networks.dense_top import DenseTop, smooth, sparse, top_of
from fedleak.attacks.networks.freed_rows import FreedRows, freed_rows
from fedleak.attacks.networks.kinked_rows import labelled
from fedleak.attacks.networks.label_counts import neutral_prediction
from fedleak.attacks.networks.label_guesses import label_guesses
from fedleak.attacks.networks.local_training import LocalTraining
from fedleak.attacks.networks.moving_arrays import still
from fedleak.attacks.networks.row_distances import furthest, spread
from fedleak.attacks.networks.solved_batch import read_off
from fedleak.attacks.networks.sparse_errors import sparse_errors
from fedleak.attacks.networks.step_order import ordered, whole_visits
from fedleak.attacks.networks.update_equations import Place, Search, UpdateEquations, nearest_mixes, update_equations
from fedleak.core.arrays import FloatArray, IntArray, Value
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import BatchNorm, Dropout

FITS = 4.0  # squared residuals for an equation, in roundings, of the layer where they are largest
NEAR = 100.0  # the same in the space that the first layer shows, which has its own rounding in it
FLOORS = (1e-2, 1e-3, 1e-4, 1e-5, 0.0)  # of a layer's size, from search to search
LAST = (1e-4, 0.0)  # once visits are whole
SHAKEN = 0.05  # visits at a start
LOST = 0.3  # squared residuals for an equation, at the two highest floors: from more no rows come out
STARTS = 3  # of rows, for each guess of the label counts
AGREE = 1e-2  # of the rows' spread: what two starts may differ in
MOST_SOLVED, MOST_BY_ZEROS = 16, 32  # rows: beyond, searches take minutes, and zeros are rare
MOST_STARTS = 512
LIKE = 0.8  # of an error's length: what local steps turn most by less
MOST_TRIED = 4  # sets of rows that zeros gave
KNOWN_TO = 1e-3  # of a layer's size: what errors of rows that zeros gave are taken for
BLANK = 1e-6  # of a row's length: a last entry so small fixes no factor


@dataclass(frozen=True, eq=False)
class SolvedUpdate(Value):
    """``found`` is None where no rows give the update again, and ``why`` says at which step that shows. ``error``: of
    each row, relative to the spread of all, as rounding lets expect."""

    why: str
    equations: UpdateEquations | None = None
    labels: IntArray | None = None
    found: FreedRows | None = None
    error: FloatArray | None = None
    agreeing: int = 0


def solved_update(seen: ClientUpdate, rng: np.random.Generator) -> SolvedUpdate:
    top = top_of(seen.network)
    why = _refused(seen, top)
    if why or top is None:
        return SolvedUpdate(why)
    equations = update_equations(seen, LocalTraining(top, seen.rate, seen.batch_size))
    if equations is None:
        return SolvedUpdate("the first layer's part of the update has no rank that rounding leaves visible")
    rank, wanted = equations.n_rows, (seen.batch_size, seen.n_steps * seen.batch_size)
    if rank not in wanted:
        why = f"the update is over {rank} rows that can be told apart: not a batch of {wanted[0]} in every step, nor "
        return SolvedUpdate(f"{why}{wanted[1]} of different batches; they overlap, or rounding hides some", equations)
    most = MOST_SOLVED if smooth(top) else MOST_BY_ZEROS
    if rank > most:
        return SolvedUpdate(f"updates over more than {most} rows are not tried; this has {rank}", equations)
    if smooth(top):
        return _searched(equations, seen, rng)
    found = _by_zeros(equations, rng)
    if _misfit(found) <= NEAR or rank > MOST_SOLVED:
        return found
    sought = _searched(equations, seen, rng)
    return sought if sought.found is not None else found


def _refused(seen: ClientUpdate, top: DenseTop | None) -> str:
    network = seen.network
    if any(isinstance(layer, BatchNorm | Dropout) for layer in network.layers):
        return "the network has batch norm or dropout: rows do not go through it one by one"
    if top is None:
        return "the network does not end in fully connected layers"
    if not read_off(network):
        return "what enters the first fully connected layer moves while layers before it are trained"
    if len(top.layers) == 1:
        return "the network has one layer alone: no later one confirms rows"
    if not smooth(top) and not sparse(top):
        return "an activation after the first fully connected layer has kinks, and no zeros that tell rows"
    return "" if top.layers[0].bias is not None else "the first fully connected layer has no bias"


def _searched(equations: UpdateEquations, seen: ClientUpdate, rng: np.random.Generator) -> SolvedUpdate:
    """From starts that have nothing in common, until two agree."""
    start = partial(_from_random, equations, seen.network, rng)
    for labels in label_guesses(_estimate(equations, seen), equations.n_rows, lambda one: start(one).misfit):
        targets = np.eye(seen.network.n_classes)[labels]
        found: list[Place] = []
        agreeing = 0
        for _ in range(STARTS):
            found = sorted([*found, _finished(equations, targets, start(labels))], key=lambda one: one.misfit)
            agreeing = sum(_differ(equations, labels, found[0], one) <= AGREE for one in found)
            if found[0].misfit <= NEAR and (agreeing > 1 or len(labels) == 1):
                break
        if found[0].misfit <= NEAR:
            agreeing = max(agreeing, 2 if len(labels) == 1 else 0)  # a single row has no unknown left
            return _judged(equations, labels, targets, found[0], agreeing, rng)
    return SolvedUpdate("no start gives the update again: labels, the order of the steps, or the search", equations)


def _from_random(
    equations: UpdateEquations, network: LayeredNetwork, rng: np.random.Generator, labels: IntArray
) -> Place:
    """Within a hundredth of the update, or not."""
    drawn = rng.random((equations.n_rows, int(np.prod(network.input_shape))))
    visits = equations.even()
    if not equations.repeated:
        steps, rows = equations.ways()
        visits = visits + steps @ (steps.T @ (SHAKEN * rng.standard_normal(visits.shape)) @ rows) @ rows.T
    targets = np.eye(network.n_classes)[labels]
    search = Search(equations, targets, True, not equations.repeated, FLOORS[0])
    return search.from_place(Place(nearest_mixes(equations.factors, drawn), visits))


def _finished(equations: UpdateEquations, targets: FloatArray, place: Place) -> Place:
    """Down to rounding, with whole visits; a start that does not come near on the way is given up."""
    for number, floor in enumerate(FLOORS[1:]):
        if number < 2 and place.misfit > LOST:
            return Place(place.mixes, place.visits)
        place = Search(equations, targets, True, not equations.repeated, floor).from_place(place)
    if equations.repeated:
        return place
    place = Place(place.mixes, whole_visits(place.visits, equations.training.batch_size))
    for floor in LAST:
        place = ordered(Search(equations, targets, True, False, floor), place, equations.n_rows)
    return place


def _by_zeros(equations: UpdateEquations, rng: np.random.Generator) -> SolvedUpdate:
    """ReLU: errors summed over visits are zero at units that are off in all of them (``sparse_errors``)."""
    best: SolvedUpdate | None = None
    for rows, near in islice(_rows_of_zeros(equations, rng), MOST_TRIED):
        place = Place(nearest_mixes(equations.factors, rows), equations.even())
        labels, targets = _relabelled(equations, place, near)
        if not equations.repeated:
            place = Search(equations, targets, False, True, KNOWN_TO).from_place(place)
            place = Place(place.mixes, whole_visits(place.visits, equations.training.batch_size))
            place = ordered(Search(equations, targets, False, False, 0.0), place, 2 * equations.n_rows)
            labels, targets = _relabelled(equations, place, labels)
        tried = _judged(equations, labels, targets, place, 2, rng)
        if best is None or _misfit(tried) < _misfit(best):
            best = tried
        if not best.why:
            break
    return best or SolvedUpdate("too few errors with more zeros than chance has, or no network's own", equations)


def _rows_of_zeros(equations: UpdateEquations, rng: np.random.Generator) -> Iterator[tuple[FloatArray, IntArray]]:
    """Rows, each with the label at which the network's own error is like the one found."""
    noise, gradient, training = equations.factors.noise[:, None], equations.blocks[0], equations.training
    visits = equations.n_steps * training.batch_size / equations.n_rows
    for proposed in _proposed(equations, rng):
        whole = np.linalg.lstsq(proposed / noise, gradient / noise, rcond=None)[0]
        factors = whole[:, -1]
        if (np.abs(factors) <= BLANK * np.linalg.norm(whole, axis=1)).any():
            continue
        rows, errors = whole[:, :-1] / factors[:, None], (proposed * factors).T * training.batch_size / visits
        labels, off = labelled(training.top, rows, errors)
        if np.median(off) <= LIKE:
            yield rows, labels


def _proposed(equations: UpdateEquations, rng: np.random.Generator) -> Iterator[FloatArray]:
    """(outputs, K) errors, each up to a factor."""
    if equations.n_rows == 1:  # its error is all that there is
        yield equations.factors.mixed
        return
    yield from (one.errors for one in sparse_errors(equations.factors, rng, MOST_STARTS))


def _relabelled(equations: UpdateEquations, place: Place, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """Errors that local steps turned may be nearest at a wrong label: one after the other changes, as long as training
    from these rows comes nearer to the update. And labels as a row of weights each."""
    own, rows = np.eye(len(equations.training.top.layers[-1].weight)), np.arange(len(labels))
    search, fixed = Search(equations, own[labels], False, False, KNOWN_TO), (still(place.mixes), still(place.visits))
    for _ in range(2 * len(labels)):
        changed = [np.where(rows == row, label, labels) for row in rows for label in range(len(own))]
        left = [search.left_over(*fixed, own[one]).value for one in (labels, *changed)]
        best = int(np.argmin([float(one @ one) for one in left]))
        if not best:
            break
        labels = changed[best - 1]
    return labels, own[labels]


def _judged(
    equations: UpdateEquations,
    labels: IntArray,
    targets: FloatArray,
    place: Place,
    agreeing: int,
    rng: np.random.Generator,
) -> SolvedUpdate:
    found = freed_rows(equations, targets, place, rng)
    why = "" if found.misfit <= FITS else "local training from the rows found does not give the update to its rounding"
    if not why and agreeing < 2:
        why = "the update comes out again, from a single start"
    error = found.deviation * np.sqrt(max(1.0, found.misfit)) / spread(found.rows)
    return SolvedUpdate(why, equations, labels, found, error, agreeing)


def _misfit(one: SolvedUpdate) -> float:
    return np.inf if one.found is None else one.found.misfit


def _estimate(equations: UpdateEquations, seen: ClientUpdate) -> FloatArray:
    """Of label counts: (rows) (mean prediction - sum of the last bias / steps), as for one gradient (``label_counts``),
    with the mean prediction that of a neutral row before training."""
    prediction = neutral_prediction(seen.network)
    last = seen.sums.get(f"{len(seen.network.layers) - 1}.bias")
    return np.asarray(equations.n_rows * (prediction if last is None else prediction - last / seen.n_steps))


def _differ(equations: UpdateEquations, labels: IntArray, one: Place, other: Place) -> float:
    rows, others = (place.mixes @ equations.factors.basis.T for place in (one, other))
    return furthest(rows, labels, others, labels)
