"""A party's rows from the averages of whole models (Li et al. 2021, section 4.2).

The coalition takes its own weights out of the average (eq. 5), which leaves the victim's gradient g = X^T X W - X^T Y
over its rows. Over the rounds this is linear in X^T X and X^T Y (eq. 6 and 7). X^T X is the Gram matrix of X^T, so
columns play the part that rows have in the vertical case, and rows that of columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.gram.gram_estimate import symmetric_design
from fedleak.attacks.inversion.known_cells import known_cells
from fedleak.attacks.inversion.rotation_problem import RotationProblem, factor_of
from fedleak.attacks.inversion.rotation_solve import Inversion, graded_guess, invert
from fedleak.attacks.verdicts import NotIdentified, from_assessment, unsolved
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, ScalarValue
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.theory.horizontal_rounds import HorizontalInversion

COARSE = 0.05  # an expected error over this share of X^T X is no recovery
SAFETY = 10.0


@dataclass(frozen=True, eq=False)
class ColumnGram:
    """X^T X of the victim's rows."""

    gram: FloatArray
    condition: float
    error: float  # expected, relative
    ids: IntArray
    factor: FloatArray  # a table with this X^T X
    weakest: float  # its smallest singular value


class AverageInversion(Attack):
    name = "average-inversion"
    summary = "takes its own weights out of the averages, solves for X^T X, and turns it onto the known cells"
    reference = Reference("li2021", "section 4.2")
    requires = frozenset({Capability.AVERAGED_WEIGHTS, Capability.LINEAR_RESIDUAL, Capability.KNOWN_CELLS})
    preloads = ("scipy.linalg", "scipy.optimize")
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = column_gram(view)
        width = view.facts.party(view.target.owner).n_features or 0
        if isinstance(found, NotIdentified):
            return unsolved(view, found, width=width)
        return invert_columns(view, found, rng)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(HorizontalInversion.assess(facts))


def column_gram(view: View) -> ColumnGram | NotIdentified:
    """X^T X from g_k = (X^T X W_k - X^T Y) / m over all rounds, symmetric by construction."""
    models, locals_ = _models(view), _victims_weights(view)
    if isinstance(locals_, NotIdentified):
        return locals_
    rate = view.facts.learning_rate
    if rate is None:
        raise MissingFromViewError("the learning rate must be public; it is not among the facts")
    ids = _row_ids(view)
    starts = np.array([models[number] for number in sorted(locals_)])
    gradients = np.array([(models[number] - locals_[number]) / rate for number in sorted(locals_)])
    width = starts.shape[1]
    constant = np.repeat(-np.eye(width), len(starts), axis=0)
    design = np.hstack([symmetric_design(starts.T), constant])
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    rank = int(np.sum(singular > 1e-11 * singular[0]))
    if rank < design.shape[1]:
        why = f"the averages of {len(starts)} rounds give {rank} independent equations for {design.shape[1]} unknowns"
        return NotIdentified(f"{why}; an attacker that shuffles its own batches keeps them apart", rank)
    solution = right.T @ ((left.T @ gradients.T.ravel()) / singular)
    n_metric = width * (width + 1) // 2
    gram = np.zeros((width, width))
    gram[np.triu_indices(width)] = solution[:n_metric]
    gram = (gram + np.triu(gram, 1).T) * len(ids)
    rounding = 2.0 ** -(view.facts.fraction_bits or 52) / np.sqrt(12) / rate
    misfit = float(np.sqrt(np.mean((design @ solution - gradients.T.ravel()) ** 2)))
    noise = max(rounding, misfit) * len(ids)
    error = noise * float(np.linalg.norm(1.0 / singular)) / float(np.linalg.norm(gram))
    if not error < COARSE:
        why = f"the averages do not fix X^T X: rounding moves it by {error:.1g} of its size"
        return NotIdentified(why, rank, undetermined=True)
    factor = factor_of(gram, len(ids))
    weakest = float(np.linalg.svd(factor, compute_uv=False)[min(factor.shape) - 1])
    if not weakest > 0:
        why = "rows or columns of the victim are combinations of others: rounding leaves it open which"
        return NotIdentified(why, rank, undetermined=True)
    return ColumnGram(gram, float(singular[0] / singular[-1]), error, ids, factor, weakest)


def invert_columns(view: View, found: ColumnGram, rng: np.random.Generator) -> Guess:
    """Known cells of X are known cells of X^T, whose rows are the columns."""
    cells = known_cells(view.knowledge, view.target.owner, found.ids)
    factor = found.factor
    cell_error = found.error * float(np.linalg.norm(found.gram)) / (2 * found.weakest) / np.sqrt(factor.size)
    tolerance = max(SAFETY * cell_error, 1e-12 * float(np.abs(factor).max()))
    problem = RotationProblem.of(factor, cells.turned(), None, tolerance)
    answer = invert(problem, rng=rng)
    blur = max(_largest_of(factor.size) * cell_error, float(cells.within.max(initial=0.0)))
    # Solutions closer than the error tells apart are one answer: it may be off by as much as they differ.
    alike = 0.0 if answer.spread is None else float(answer.spread.max())
    expected = np.full(len(factor), max(blur * answer.condition, alike) / problem.scale)
    tables = tuple(np.ascontiguousarray(candidate.T) for candidate in answer.candidates)
    evidence = _evidence(found, answer, len(cells.values), factor.size)
    return graded_guess(view, found.ids, tables, answer, expected, evidence)


def _largest_of(n_cells: int) -> float:
    """How far the worst of so many cells is off, in root mean squares: at most sqrt(2 ln 2n) on average, of normal
    errors however they depend. What is called recovered is so in every cell."""
    return float(np.sqrt(2 * np.log(2 * n_cells)))


def _evidence(found: ColumnGram, answer: Inversion, n_known: int, n_cells: int) -> dict[str, ScalarValue]:
    return {
        "expected error of the inner products": found.error,
        "condition of the averages": found.condition,
        "known cells": n_known,
        "known data ratio": n_known / n_cells,
        "real solutions": len(answer.candidates),
        "real solutions before further known cells": answer.n_without_extra,
        "condition of the known cells": answer.condition if np.isfinite(answer.condition) else None,
    }


def _models(view: View) -> dict[int, FloatArray]:
    """The common weights with which each round began."""
    found: dict[int, FloatArray] = {}
    for message in (*view.at(averaging.FIRST_MODEL), *view.at(averaging.AVERAGED_WEIGHTS)):
        if isinstance(message.payload, Array):
            found[message.round + 1] = message.payload.values
    return found


def _victims_weights(view: View) -> dict[int, FloatArray] | NotIdentified:
    """By round: seen by the server in plaintext, or what the average leaves without the coalition's own (eq. 5)."""
    victim = view.target.owner
    if view.facts.of(averaging.HorizontalFacts).secure_aggregation is False and _server_inside(view):
        bits = view.facts.fraction_bits or 0
        return {
            m.round: np.ldexp(np.asarray(m.payload.values).astype(np.int64).astype(np.float64), -bits)
            for m in view.at(averaging.SENT_WEIGHTS)
            if m.sender == victim and isinstance(m.payload, Array)
        }
    holders = [party.name for party in view.facts.parties if party.role is Role.ACTIVE]
    others = [name for name in holders if name not in view.coalition and name != victim]
    if others:
        return NotIdentified(f"the average hides {victim} among {', '.join(others)}: only their sum is determined", 0)
    found = {}
    for message in view.at(averaging.AVERAGED_WEIGHTS):
        if isinstance(message.payload, Array):
            found[message.round] = len(holders) * message.payload.values
    for name in view.coalition:
        for record in view.records(averaging.OWN_WEIGHTS, name):
            if isinstance(record.value, Array):
                found[record.round] = found[record.round] - record.value.values
    return found


def _server_inside(view: View) -> bool:
    return any(party.role is Role.SERVER and party.name in view.coalition for party in view.facts.parties)


def _row_ids(view: View) -> IntArray:
    for message in view.at(averaging.ROW_IDS):
        if message.sender == view.target.owner and isinstance(message.payload, Array):
            return np.asarray(message.payload.values, dtype=np.int64)
    raise MissingFromViewError(
        f"{view.target.owner} must have said how it numbers its rows; the view has no such message"
    )
