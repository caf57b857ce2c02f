"""Columns with few possible values, of a table that is known up to a rotation: found by trying their patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate
from fedleak.attacks.inversion.rotation_fit import ColumnKnowledge
from fedleak.attacks.inversion.rotation_problem import Anchor
from fedleak.core.arrays import FloatArray

SAFETY = 10.0  # of the expected error of a cell
MOST_PATTERNS = 3_000_000
CHUNK = 100_000
COARSE = 0.01  # an error of a unit vector
DEPENDENT = 1e-7  # rows that are this close to each other's span, relative to the largest, are not independent


def unit_combinations(factor: FloatArray, values: FloatArray, tolerance: float) -> list[FloatArray] | None:
    """All unit vectors r for which F r takes these values only.

    None if there are too many patterns to try, or if rows are so few, dependent or coarse that a pattern does not
    determine r: the length of r, by which wrong patterns are told, would be lost in its error.
    """
    from scipy.linalg import qr

    width = factor.shape[1]
    if len(values) ** width > MOST_PATTERNS or len(factor) < width:
        return None
    _, triangle, pivots = qr(factor.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    if sizes.min() <= max(DEPENDENT * sizes.max(), tolerance):
        return None
    chosen = pivots[:width]
    inverse = np.linalg.inv(factor[chosen])
    slack = tolerance * float(np.linalg.norm(inverse, 2)) * np.sqrt(width)
    if slack > COARSE:
        return None
    found: list[FloatArray] = []
    for patterns in _patterns(values, width):
        candidates = patterns @ inverse.T
        right_length = np.abs(np.linalg.norm(candidates, axis=1) - 1.0) <= 3 * slack + 1e-9
        found.extend(r for r in candidates[right_length] if _fits(factor @ r, values, 30 * (tolerance + slack)))
    return [r / np.linalg.norm(r) for r in found]


def _patterns(values: FloatArray, width: int) -> Iterator[FloatArray]:
    """All tuples of values, in chunks."""
    n_inner = max(1, min(width, int(np.log(CHUNK) / np.log(max(len(values), 2)))))
    inner = np.array(list(product(values, repeat=n_inner)))
    for outer in product(values, repeat=width - n_inner):
        yield np.hstack([np.broadcast_to(np.array(outer, dtype=np.float64), (len(inner), len(outer))), inner])


def _fits(column: FloatArray, values: FloatArray, slack: float) -> bool:
    return bool((np.abs(column[:, None] - values[None, :]).min(axis=1) <= slack + 1e-9).all())


def groups_of_few_values(columns: list[ColumnKnowledge], *, named: bool) -> list[list[int]]:
    """Columns with few possible values; without names those with the same values are one group."""
    few = [index for index, known in enumerate(columns) if known.values is not None and len(known.values) >= 2]
    if named:
        return [[index] for index in few]
    by_values: dict[bytes, list[int]] = {}
    for index in few:
        values = columns[index].values
        assert values is not None
        by_values.setdefault(values.tobytes(), []).append(index)
    return list(by_values.values())


SAME_SHARE = 1e-4  # of the weights' length
ORTHOGONAL = 1e-4


def exact_columns(
    gram: GramEstimate,
    columns: list[ColumnKnowledge],
    anchor: Anchor | None,
    source: FloatArray | None,
    groups: list[list[int]],
) -> tuple[dict[int, FloatArray], bool]:
    """Columns of R that few possible values determine, and whether some have more answers than columns.

    What is found for one group is excluded for the others, until nothing changes; a group with as many answers left as
    columns has them, in any order.
    """
    answers = [_of_few_values(gram, columns, group, anchor, source) for group in groups]
    fixed: dict[int, FloatArray] = {}
    waiting = [position for position, found in enumerate(answers) if found]
    while True:
        left = {p: [r for r in answers[p] if _orthogonal(r, fixed.values())] for p in waiting}
        solved = next((p for p, free in left.items() if _is_whole(free, groups[p])), None)
        if solved is None:
            return fixed, any(len(free) > len(groups[p]) for p, free in left.items())
        fixed.update(zip(groups[solved], left[solved], strict=True))
        waiting.remove(solved)


def _of_few_values(
    gram: GramEstimate,
    columns: list[ColumnKnowledge],
    group: list[int],
    anchor: Anchor | None,
    source: FloatArray | None,
) -> list[FloatArray]:
    values = columns[group[0]].values
    assert values is not None
    found = unit_combinations(gram.factor, values, SAFETY * gram.cell_error) or []
    if anchor is None or source is None:
        return found
    near = SAME_SHARE * float(np.linalg.norm(anchor.weights))
    return [r for r in found if abs(float(r @ source) - float(anchor.weights[group[0]])) <= near]


def _is_whole(free: list[FloatArray], group: list[int]) -> bool:
    return len(free) == len(group) and all(_orthogonal(r, free[:i]) for i, r in enumerate(free))


def _orthogonal(vector: FloatArray, others: Iterable[FloatArray]) -> bool:
    return all(abs(float(vector @ other)) < ORTHOGONAL for other in others)
