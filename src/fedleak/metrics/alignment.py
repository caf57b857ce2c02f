"""Put a guess beside the truth, by the rows' whole ids and by the symmetries that the attack's class declares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, flat_rows
from fedleak.core.attack import Guess
from fedleak.core.best_names import best_names
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues

OF_OWN_CELLS = frozenset({SecretKind.FEATURES, SecretKind.IMAGES})  # what known cells are cells of
LARGEST_GUESS = 1e100  # guesses further out are not told apart, so that their squared errors stay finite


def answers_of(guess: Guess, truth: SecretValues) -> list[FloatArray]:
    """The guess, or each of its equally good candidates, in the truth's row order; NaN where it is silent."""
    _check_cells(guess, truth)
    found = places(truth.ids, guess.ids)
    answers = []
    for values in guess.candidates or (guess.values,):
        cells = np.full(truth.values.shape, np.nan)
        cells[found >= 0] = told(values[found[found >= 0]])
        answers.append(cells)
    return answers


def _check_cells(guess: Guess, truth: SecretValues) -> None:
    given = guess.values.shape[1:]
    if given == truth.cell_shape:
        return
    if len(given) == 1 and truth.is_table:
        raise ValueError(f"a guess of this secret must have {len(truth.columns)} columns; got {given[0]}")
    raise ValueError(f"a guess of this secret must have cells of shape {truth.cell_shape} a row; got {given}")


def places(ids: IntArray, among: IntArray) -> IntArray:
    """Where each id stands among others, all its parts equal; -1 where it does not. Of one that recurs, the last."""
    position = {key: index for index, key in enumerate(_keys(among))}
    return np.array([position.get(key, -1) for key in _keys(ids)], dtype=np.int64)


def told(values: FloatArray) -> FloatArray:
    """What is said by guessed figures: one that is not finite says nothing, and is NaN."""
    return np.where(np.isfinite(values), np.clip(values, -LARGEST_GUESS, LARGEST_GUESS), np.nan)


def unknown_cells(secret: Secret, truth: SecretValues, knowledge: Knowledge) -> BoolArray:
    """True for the cells that count: those that the adversary did not know beforehand."""
    if secret.kind is SecretKind.LABELS and knowledge.labels:
        return np.isnan(knowledge.labels_of(secret.owner, truth.ids))[:, None]
    if secret.kind not in OF_OWN_CELLS:
        return np.ones(truth.values.shape, dtype=np.bool_)
    return ~knowledge.cell_mask(secret.owner, truth.ids, truth.cell_shape)


def aligned(cells: FloatArray, truth: FloatArray, up_to: frozenset[Symmetry]) -> FloatArray:
    """The member of the guess's symmetry class that is closest to the truth; rows of any shape are taken flat."""
    steps: list[tuple[Symmetry, Callable[[FloatArray, FloatArray], FloatArray]]] = [
        (Symmetry.ROTATION, _best_rotation),
        (Symmetry.COLUMN_ORDER, _best_column_order),
        (Symmetry.ROW_ORDER, _best_row_order),
        (Symmetry.GLOBAL_SIGN, _best_sign),
        (Symmetry.CLASS_NAMES, _best_class_names),
    ]
    for symmetry, align in steps:
        if symmetry in up_to:
            cells = align(flat_rows(cells), flat_rows(truth)).reshape(truth.shape)
    return cells


def _keys(ids: IntArray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in ids.reshape(len(ids), -1).tolist()] if len(ids) else []


def _best_sign(cells: FloatArray, truth: FloatArray) -> FloatArray:
    return -cells if np.nansum(cells * truth) < 0 else cells


def _best_class_names(cells: FloatArray, truth: FloatArray) -> FloatArray:
    """Each guessed class gets the name of a true one, all different, such that most rows are right. Guessed classes
    beyond the true ones keep a name that no row has."""
    told_cells = np.isfinite(cells)
    parts = np.full(cells.shape, -1, dtype=np.int64)
    parts[told_cells] = np.unique(cells[told_cells], return_inverse=True)[1].ravel()
    names, classes = np.unique(truth, return_inverse=True)
    found, _ = best_names(parts.ravel(), classes.ravel())
    with_nameless = np.append(names, names.max() + 1)  # which come last, as -1 does
    result = np.full(cells.shape, np.nan)
    result[told_cells] = with_nameless[found[parts[told_cells]]]
    return result


def _best_row_order(cells: FloatArray, truth: FloatArray) -> FloatArray:
    """Optimal matching of rows by squared distance; a missing row is at the same distance from all."""
    from scipy.optimize import linear_sum_assignment

    filled = np.where(np.isfinite(cells), cells, np.nanmean(truth))
    distance = np.stack(
        [((row - filled) ** 2).sum(axis=1) for row in truth]
    )  # all pairs at once are rows x rows x cells
    rows, chosen = linear_sum_assignment(distance)
    result = np.empty_like(cells)
    result[rows] = cells[chosen]
    return result


def _best_column_order(cells: FloatArray, truth: FloatArray) -> FloatArray:
    """The same for columns. What is missing of a column is at its mean, so that a silent column suits all alike."""
    return _best_row_order(cells.T, truth.T).T


def _best_rotation(cells: FloatArray, truth: FloatArray) -> FloatArray:
    """Orthogonal Procrustes over the rows that are guessed whole."""
    whole = np.isfinite(cells).all(axis=1)
    if not whole.any():
        return cells
    left, _, right = np.linalg.svd(cells[whole].T @ truth[whole])
    rotation: FloatArray = left @ right
    return np.asarray(cells @ rotation)
