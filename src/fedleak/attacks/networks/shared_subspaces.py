"""Fewer batches than rows: what the gradients of the batches that hold a row have in common.

The range of a batch's weight gradient is the span of its rows' v_n. Where no other row is in all the batches that hold
row n, their spans meet in the line of v_n alone; the bias gradients then fix the lengths, S V = B with one unknown a
row. Spans that meet in more (two rows that share all their batches) bring as many unknowns as they have dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.batch_indicators import Batches, Unmixed, solve_symmetric, unmixed
from fedleak.attacks.networks.layer_gradients import GradientStream, Span, span_of
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value

VISIBLE = 1e-7  # of the largest singular value: float32 rounds at a third of it
SHARED = 1e-4  # squared sines below which a direction counts as common to all spans
FAINT = 1e-9
FIRM = 1e-3  # of the largest singular value: a span whose weakest direction stands so high counts in full
MAX_UNKNOWNS = 4000
N_WEIGHINGS = 6
LOOSE = 4.0  # times the usual misfit of a batch
ENOUGH = 6  # batches that hold a row, after which more of them add nothing but time


@dataclass(frozen=True, eq=False)
class Meeting(Value):
    """Where the spans of a row's batches meet: ``basis`` a row a dimension. ``gap``: by how much the next direction
    fails to be common, a squared sine; the view's own sign that the dimension is right."""

    basis: FloatArray
    gap: float


def batches_needed(batches: Batches) -> int:
    """So many of the first batches that every row is in enough of them and no row stays in another's shadow; all
    where that never comes."""
    held = np.cumsum(batches.counts > 0, axis=0)
    enough = int(np.argmax((held >= ENOUGH).all(axis=1))) + 1 if (held[-1] >= ENOUGH).all() else len(held)
    for count in range(enough, len(held)):
        if not batches.first(count).shadowed.any():
            return count
    return len(held)


def meeting(spans: Sequence[Span]) -> Meeting:
    """Eigenvectors, within the firmest span, of the mean of the others' projections, whose eigenvalue is 1.

    Firm spans count for more: two rows with nearly the same inputs leave a weak direction, or none.
    """
    first, *others = sorted(spans, key=lambda span: -span.weakest)
    if not others:
        return Meeting(first.basis, 0.0)
    weights = np.array([min(FIRM, max(other.weakest, FAINT)) ** 2 for other in others])
    mean = np.zeros((len(first.basis), len(first.basis)))
    for other, weight in zip(others, weights / max(weights.sum(), 1e-300), strict=True):
        cosines = first.basis @ other.basis.T
        mean += weight * (cosines @ cosines.T)
    values, vectors = np.linalg.eigh(mean)
    common = int((values > 1.0 - SHARED).sum())
    gap = 1.0 - float(values[-common - 1]) if common < len(values) else 1.0
    return Meeting(vectors[:, len(values) - common :].T @ first.basis, gap)


def meetings(batches: Batches, gradients: GradientStream) -> tuple[list[Meeting], FloatArray]:
    """Of every row, and the bias gradient of every batch, in one pass over the gradients."""
    spans, sums = [], []
    for number, gradient in zip(range(len(batches.counts)), gradients(), strict=False):
        spans.append(span_of(gradient.weight, len(batches.rows(number)), VISIBLE))
        sums.append(gradient.bias)
    held = [np.flatnonzero(batches.counts[:, row]) for row in range(len(batches.ids))]
    return [meeting([spans[batch] for batch in own]) for own in held], np.array(sums)


def unmixed_by_spans(batches: Batches, found: Sequence[Meeting], sums: FloatArray) -> Unmixed | None:
    """V of all rows; None where so few batches overlap that there are too many unknowns.

    A row whose spans do not meet has a v_n below what is visible: it counts as zero, and is not determined. A few rows
    may have a wrong line (their like was in every batch with them): their batches misfit, weigh less and less, and
    last of all those rows are solved for freely, from the sums that the others leave.
    """
    owners = np.repeat(np.arange(len(found)), [len(one.basis) for one in found])
    if not len(owners) or len(owners) > MAX_UNKNOWNS:
        return None
    weights = np.ones(len(sums))
    for _ in range(N_WEIGHINGS):
        lengths = _lengths(batches, found, owners, sums, weights)
        misfits = np.linalg.norm(batches.counts @ lengths.values - sums, axis=1)
        usual = float(np.median(misfits))
        if misfits.max() <= LOOSE * usual:
            break
        weights = 1.0 / np.maximum(misfits / max(usual, 1e-300), 1.0) ** 2
    loose = lengths.determined & ~((misfits <= LOOSE * usual) @ batches.counts > 0)
    return _with_loose_rows(batches, lengths, loose, sums) if loose.any() else lengths


def _lengths(
    batches: Batches, found: Sequence[Meeting], owners: IntArray, sums: FloatArray, weights: FloatArray
) -> Unmixed:
    """Normal equations of sum_n s_tn sum_k c_nk u_nk = b_t over all batches t, each with its weight."""
    basis = np.concatenate([one.basis for one in found])
    weighted = batches.counts * weights[:, None]
    matrix = (basis @ basis.T) * (batches.counts.T @ weighted)[np.ix_(owners, owners)]
    right = ((weighted.T @ sums)[owners] * basis).sum(axis=1)
    solved = solve_symmetric(matrix, right[:, None])
    values, gain = np.zeros((len(found), basis.shape[1])), np.zeros(len(found))
    np.add.at(values, owners, solved.values * basis)
    np.add.at(gain, owners, solved.inverse_diagonal)
    known = np.zeros(len(found), dtype=bool)
    known[owners] = True
    known[owners[~solved.determined]] = False
    left = np.linalg.norm(batches.counts @ values - sums) / max(float(np.linalg.norm(sums)), 1e-300)
    return Unmixed(values, np.where(known, np.sqrt(gain), np.nan), solved.rank, float(left))


def _with_loose_rows(batches: Batches, lengths: Unmixed, loose: BoolArray, sums: FloatArray) -> Unmixed:
    rest = sums - batches.counts[:, ~loose] @ lengths.values[~loose]
    freely = unmixed(Batches(batches.ids[loose], batches.counts[:, loose]), rest)
    values, gain = lengths.values.copy(), lengths.noise_gain.copy()
    values[loose], gain[loose] = np.nan_to_num(freely.values), freely.noise_gain
    left = np.linalg.norm(batches.counts @ values - sums) / max(float(np.linalg.norm(sums)), 1e-300)
    return Unmixed(values, gain, lengths.rank, float(left))
