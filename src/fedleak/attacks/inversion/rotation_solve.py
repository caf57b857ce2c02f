"""Invert: search, polish, and say how many answers remain, what may be called recovered, and what is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fedleak.attacks.inversion.rotation_problem import Polished, RotationProblem, equations, fit_rotations, polish
from fedleak.attacks.inversion.rotation_search import DEFAULT_NODES, search
from fedleak.attacks.verdicts import nothing
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Guess, Status
from fedleak.core.payload import ScalarValue
from fedleak.core.view import View

SAFETY = 3.0  # three draws of the noise are few
CONSTANT = 1e-6  # a column that varies by less than this share of its size is judged by its size
EVEN = 1e-3  # a weakest direction of this share of the strongest, or more, is no hindrance to a search
SAME_END = 3  # of the starts of a fit: an end that fewer come to may have others beside it
MORE_STARTS = 28  # where a first dozen does not come to that
MAX_POLISHED = 64
BLURRED = 10.0  # a rotation may miss by so many times what its condition makes of the tolerance
MOVES = 1e-6  # of a typical cell, along a direction of length one
FREE = 1e-11  # a pivot this small, relative to the largest, belongs to a direction that no equation holds


class Answer(StrEnum):
    UNIQUE = "unique"
    SEVERAL = "several"  # a finite number of exact solutions
    CONTRADICTION = "contradiction"  # the known cells do not fit the trajectory
    TOO_FEW = "too few"  # a whole family of solutions
    BUDGET = "budget"  # the search was cut short


@dataclass(frozen=True, eq=False)
class Inversion:
    """``n_without_extra`` counts the real solutions before known cells beyond the construction chose among them."""

    answer: Answer
    candidates: tuple[FloatArray, ...]  # F R for every rotation that remains
    n_without_extra: int
    n_nodes: int
    misfit: float  # of the best candidate, in the cells' unit
    condition: float  # of the known-cell equations at the answer
    free_directions: int  # dimension of the family that remains; 0 where the number of answers is finite
    why: str
    rotation: FloatArray | None = None  # of the first candidate
    spread: FloatArray | None = None  # a column: how far rotations that count as the first candidate's differ from it
    complete: bool = True  # every real solution is among the candidates
    moved: BoolArray | None = None  # columns that the family moves, where one of its tables was found

    def of_columns(self, columns: slice, limit: float) -> Inversion:
        """What it says of some columns: tables that differ elsewhere alone are one answer, and a family that is not
        seen to move these does not show that they are open."""
        if self.answer is Answer.TOO_FEW:
            if self.moved is not None and self.moved[columns].any():
                return self
            return replace(self, answer=Answer.BUDGET, why=f"{self.why}; whether these columns are among them is open")
        candidates = _distinct([table[:, columns] for table in self.candidates], limit)
        if self.answer is not Answer.SEVERAL or len(candidates) > 1:
            return replace(self, candidates=candidates)
        answer = Answer.UNIQUE if self.complete else Answer.BUDGET
        why = f"{len(self.candidates)} tables of all parties fit, and agree in these columns"
        return replace(self, candidates=candidates, answer=answer, why=why)


def invert(problem: RotationProblem, *, rng: np.random.Generator, max_nodes: int = DEFAULT_NODES) -> Inversion:
    """Every rotation that fits, or the reason why there is none to be named."""
    found = search(problem, max_nodes=max_nodes)
    rotations = found.rotations
    tried = [polish(problem, rotation) for rotation in rotations[:MAX_POLISHED]]
    polished = sorted(tried, key=lambda one: one.misfit)
    limit = problem.limit
    fitted: list[Polished] = []
    if not polished or polished[0].misfit > limit:
        # No row was known well enough to start with, or errors piled up on the way: fit all cells at once.
        fitted = fit_rotations(problem, rng)
        if fitted and _n_fitting(fitted, limit) < SAME_END:
            fitted += fit_rotations(problem, rng, n_starts=MORE_STARTS)
        polished = sorted([*polished, *fitted], key=lambda one: one.misfit)
    if not polished:
        if found.open_directions > 0:
            return _too_few(problem, found.n_nodes, found.open_directions)
        why = "no real solution: a known cell is wrong or noisier than the trajectory allows"
        return Inversion(Answer.CONTRADICTION, (), 0, found.n_nodes, float("inf"), float("inf"), 0, why)
    best = polished[0]
    condition, n_free = _conditioning(problem, best.rotation)
    if n_free > 0:
        return replace(_too_few(problem, found.n_nodes, n_free), moved=_moved(problem, best.rotation))
    if best.misfit > limit:
        searched = found.complete and bool(rotations) and not _missed_by_errors(problem, rotations, tried)
        why = _no_fit(problem, best.misfit, searched=searched)
        return Inversion(Answer.CONTRADICTION, (), len(rotations), found.n_nodes, best.misfit, condition, 0, why)
    kept = [one for one in polished if one.misfit <= max(limit, 3 * best.misfit)]
    tables = [problem.factor @ one.rotation for one in kept]
    candidates = _distinct(tables, problem.apart)
    alike = [np.abs(table - tables[0]) for table in tables if float(np.abs(table - tables[0]).max()) <= problem.apart]
    answer = Answer.UNIQUE if len(candidates) == 1 else Answer.SEVERAL
    by_chance = bool(fitted) and _n_fitting(fitted, limit) < SAME_END
    explained = problem.width == 1 or best.misfit <= problem.explained  # one column has two signs, and both were tried
    complete = found.complete and explained and not by_chance and not _missed_by_errors(problem, rotations, tried)
    if answer is Answer.UNIQUE and not complete:
        answer = Answer.BUDGET
    spread = np.max([table.max(axis=0) for table in alike], axis=0)
    why = _explanation(answer, len(candidates), len(rotations), found.n_nodes)
    if answer is Answer.UNIQUE and float(spread.max(initial=0.0)) > FINE * problem.scale:
        why = (
            f"{len(alike)} real solutions fit, too close to tell apart: their cells differ by up to {spread.max():.1g}"
        )
    return Inversion(
        answer,
        candidates,
        len(rotations),
        found.n_nodes,
        best.misfit,
        condition,
        0,
        why,
        best.rotation,
        spread,
        complete,
    )


def _missed_by_errors(problem: RotationProblem, rotations: Sequence[FloatArray], tried: Sequence[Polished]) -> bool:
    """Whether a rotation that the search came to, and that no polish brings to a fit, may be the true one all the same:
    where known cells hold a direction weakly, errors turn it far, and a polish does not find the way back."""
    beside = [start for start, one in zip(rotations, tried, strict=False) if one.misfit > problem.limit]
    return any(_may_be_true(problem, rotation) for rotation in beside)


def _may_be_true(problem: RotationProblem, rotation: FloatArray) -> bool:
    condition, _ = _conditioning(problem, rotation)
    return float(np.abs(problem.residuals(rotation)).max()) <= BLURRED * condition * problem.tolerance


def _n_fitting(fitted: Sequence[Polished], limit: float) -> int:
    return sum(one.misfit <= limit for one in fitted)


def column_errors(
    problem: RotationProblem, others: Sequence[FloatArray], found: Inversion, rng: np.random.Generator
) -> FloatArray:
    """How far each column may be off, as a share of its own standard deviation.

    The independent check: the same rotation is found again from factors of disturbed trajectories, and the cells are
    compared column by column. Small columns are the weak directions of the factor, where its error is largest. Known
    cells that a column misses count as well, and rotations that were taken for the same answer. Rounded cells are drawn
    anew within their rounding each time.
    """
    if found.rotation is None or found.spread is None:
        return np.full(problem.width, np.inf)
    table = problem.factor @ found.rotation
    off = found.spread.copy()
    for factor in others:
        moved = polish(replace(problem, factor=factor, values=_within(problem, rng)), found.rotation)
        off = np.maximum(off, SAFETY * np.sqrt(np.mean((factor @ moved.rotation - table) ** 2, axis=0)))
    missed = np.abs(table[problem.rows, problem.columns] - problem.values)
    if problem.within is not None:
        missed = np.maximum(missed - problem.within, 0.0)
    np.maximum.at(off, problem.columns, missed)
    size = np.sqrt(np.mean(table**2, axis=0))
    return np.asarray(off / np.maximum(table.std(axis=0), CONSTANT * size + 1e-300))


def _within(problem: RotationProblem, rng: np.random.Generator) -> FloatArray:
    """Known cells as they may be beyond their rounding."""
    if problem.within is None or not problem.within.any():
        return problem.values
    return problem.values + problem.within * rng.uniform(-1.0, 1.0, len(problem.values))


def _no_fit(problem: RotationProblem, misfit: float, *, searched: bool) -> str:
    """A contradiction shows where every rotation was tried, and no direction of the rows is too weak to go by."""
    miss = f"they miss by {misfit:.2g}, rounding explains {problem.tolerance:.2g}"
    singular = np.linalg.svd(problem.factor, compute_uv=False)
    if searched and singular[-1] > EVEN * singular[0]:
        return f"the known cells contradict the trajectory: {miss}"
    return f"no rotation was found that fits the known cells: {miss}; one of them is wrong, or the search missed it"


def _distinct(tables: list[FloatArray], limit: float) -> tuple[FloatArray, ...]:
    """Two roots may polish to one solution; tables that differ by less than the limit are one answer."""
    kept: list[FloatArray] = []
    for table in tables:
        if all(float(np.abs(table - other).max()) > limit for other in kept):
            kept.append(table)
    return tuple(kept)


def _conditioning(problem: RotationProblem, rotation: FloatArray) -> tuple[float, int]:
    """Condition (ratio of pivots) of the known-cell equations, and how many directions of rotation they leave free.

    Directions that move no row (rows that span less than the whole space) do not count as free.
    """
    from scipy.linalg import qr

    width = problem.width
    n_unknown = width * (width - 1) // 2
    if n_unknown == 0:
        return 1.0, 0
    values = problem.factor @ rotation
    idle = width - int(np.linalg.matrix_rank(values, tol=1e-9 * float(np.abs(values).max())))
    if problem.anchor is not None and idle > 0:
        idle -= 1
    system = equations(problem, rotation)
    pivots = np.abs(np.diag(qr(system, mode="r", pivoting=True)[0])) if system.size else np.zeros(0)
    rank = int(np.sum(pivots > FREE * pivots[0])) if len(pivots) else 0
    unreachable = idle * (idle - 1) // 2
    n_free = max(0, n_unknown - unreachable - rank)
    condition = float(pivots[0] / pivots[rank - 1]) if rank else float("inf")
    return condition, n_free


def _moved(problem: RotationProblem, rotation: FloatArray) -> BoolArray:
    """Columns whose cells change along some direction of rotation that no equation holds."""
    width = problem.width
    system = equations(problem, rotation)
    _, singular, directions = np.linalg.svd(np.vstack([system, np.zeros((1, system.shape[1]))]))
    rank = int(np.sum(singular > FREE * singular[0])) if singular[0] > 0 else 0
    first, second = np.triu_indices(width, k=1)
    turns = np.zeros((len(directions) - rank, width, width))
    turns[:, first, second] = directions[rank:]
    changes = problem.factor @ rotation @ (turns - turns.transpose(0, 2, 1))
    return np.asarray(np.abs(changes).max(axis=(0, 1)) > MOVES * problem.scale)


def _too_few(problem: RotationProblem, n_nodes: int, n_open: int) -> Inversion:
    missing = "the stolen weights and " if problem.anchor is not None else ""
    why = f"{missing}{len(problem.values)} known cells leave a family of rotations of {n_open} open directions"
    return Inversion(Answer.TOO_FEW, (), 0, n_nodes, float("inf"), float("inf"), n_open, why)


def _explanation(answer: Answer, n_kept: int, n_found: int, n_nodes: int) -> str:
    if answer is Answer.UNIQUE:
        if n_found == 0:
            return "one real solution was found, by fitting all known cells at once"
        chosen = "" if n_found == 1 else f", chosen among {n_found} by the cells known beyond the construction"
        return f"one real solution fits{chosen}"
    if answer is Answer.SEVERAL:
        return f"{n_kept} real solutions fit equally well, and nothing in the view decides between them"
    return f"the search ended after {n_nodes} nodes with one solution; there may be others"


FINE = 0.05  # an expected cell error up to this share of a typical cell is a recovery
USELESS = 0.5  # and beyond this one, no answer


def graded_guess(
    view: View,
    ids: IntArray,
    tables: tuple[FloatArray, ...],
    found: Inversion,
    expected: FloatArray,
    evidence: Mapping[str, ScalarValue],
) -> Guess:
    """``tables`` are the solutions that remain, ``expected`` a column's error as a share of its typical deviation.

    A column whose error would be as large as itself is left open.
    """
    width = view.facts.party(view.target.owner).n_features or 0
    worst = float(expected.max(initial=0.0))
    evidence = {**evidence, "expected relative error of a cell": worst if np.isfinite(worst) else None}
    if found.answer is Answer.TOO_FEW:
        return nothing(view, found.why, evidence, width=width)
    if not tables:
        return nothing(view, found.why, evidence, width=width, status=Status.UNDETERMINED)
    usable = expected <= USELESS
    if not usable.any():
        best = float(expected.min())
        why = f"the inner products are not known well enough: a cell would be off by {best:.1g} of its size"
        return nothing(view, why, evidence, width=width, status=Status.UNDETERMINED)
    several = found.answer is not Answer.UNIQUE
    status = Status.UNDETERMINED if several else Status.RECOVERED if worst <= FINE else Status.PARTIAL
    why = found.why if worst <= FINE else f"{found.why}; {_too_coarse(expected)}"
    tables = tuple(np.where(usable, table, np.nan) for table in tables)
    return Guess(view.target, status, ids, tables[0], candidates=tables if several else (), evidence=evidence, why=why)


def _too_coarse(expected: FloatArray) -> str:
    n_fine, n_lost = int(np.sum(expected <= FINE)), int(np.sum(~(expected <= USELESS)))
    lost = f", {n_lost} not at all" if n_lost else ""
    return f"the inner products are precise enough for {n_fine} of {len(expected)} columns{lost}"
