"""What an attacker recovers of a training: per round the batch, the rate, the residuals and the victim's scores.

The scores obey z(t) = p(t) v + G c(t) for every row of the table, in the batch or not: W(t) = p(t) W(0) + X^T c(t),
where p shrinks by 1 - rate * l2 a round and c collects -rate / batch * d at the batch's rows. v = X W(0) and G = X X^T
are the unknowns, and they enter linearly. Eq. 3 of Li et al. 2021 is the difference of two such equations for one batch
that recurs.

Two ways of reading it. On the grid: g = X^T d / m + l2 w with everything known but d (section 4.1 of Li et al. 2021),
so as many independent own columns as batch rows determine d. The parties computed with encoded numbers, and the
coalition knows its own encodings exactly, so it solves with them; where the system is well conditioned, d is then
rounded to the grid it lies on, and is exact. For models of two classes also from residuals row by row, where labels
that nobody in the coalition holds are those of the residuals' signs (Hu et al. 2022, remark 4.9).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fedleak.attacks.residuals.batch_residuals import approximation_of
from fedleak.attacks.residuals.joint_victim import outsiders
from fedleak.attacks.residuals.outside_scores import SENSITIVITY, outside_scores
from fedleak.attacks.residuals.own_side import (
    OwnMember,
    OwnNoise,
    hold_labels,
    hold_steps,
    l2_of,
    own_members,
    rate_of,
    residual_of,
)
from fedleak.attacks.residuals.validation_scores import validated_rounds
from fedleak.attacks.verdicts import NotIdentified
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.vocabulary import LinearResidual


@dataclass(frozen=True, eq=False)
class Round:
    rows: IntArray  # positions of the batch in the table
    rate: float
    residuals: FloatArray  # d of the batch
    scores: FloatArray  # z of the batch: the victim's share of the linear score; NaN where it stays open
    errors: FloatArray | None = None  # standard deviation of each score's error; None where all rounds have one


@dataclass(frozen=True, eq=False)
class Trajectory:
    n_rows: int
    l2: float
    rounds: tuple[Round, ...]
    noise: float  # standard deviation of the error in a score, over all rounds: rounding, or declared noise
    residual_scale: float = 1.0  # d = residual_scale * z + known: how an error in z shows in d

    @cached_property
    def repeats(self) -> bool:
        """One batch of all rows, again and again, with every score known."""
        return all(len(r.rows) == self.n_rows and bool(np.isfinite(r.scores).all()) for r in self.rounds)

    @cached_property
    def states(self) -> FloatArray:
        """(rounds + 1, 1 + rows): [p(t), c(t)] when round t begins, and after the last one."""
        found = np.zeros((len(self.rounds) + 1, 1 + self.n_rows))
        found[0, 0] = 1.0
        for number, step in enumerate(self.rounds):
            found[number + 1] = found[number] * (1 - step.rate * self.l2)
            found[number + 1, 1 + step.rows] -= step.rate / len(step.rows) * step.residuals
        return found

    def errors_of(self, step: Round) -> FloatArray:
        """Of a round's scores: own rows that are nearly dependent make single rounds far worse than the others."""
        return np.full(len(step.rows), self.noise) if step.errors is None else step.errors

    def disturbed(self, rng: np.random.Generator, times: float = 1.0) -> Trajectory:
        """One more draw of its own noise on top: how far an answer moves then is how far it can be trusted."""
        rounds = []
        for step in self.rounds:
            error = times * self.errors_of(step) * rng.standard_normal(len(step.rows))
            rounds.append(
                replace(step, scores=step.scores + error, residuals=step.residuals + self.residual_scale * error)
            )
        return replace(self, rounds=tuple(rounds))


RANK_TOLERANCE = 1e-9  # singular values below this share of the largest count as zero
SNAP_MARGIN = 12.0  # the grid must be this many times the floating-point error for rounding to be safe
EPSILON = float(np.finfo(np.float64).eps)
IN_FLOATS = 4 * EPSILON  # of a score: parties add up products and follow their weights in floating point


@dataclass(frozen=True, eq=False)
class ReadTrajectory:
    ids: IntArray  # row ids, in the table's order
    round_numbers: IntArray
    trajectory: Trajectory
    condition: float  # worst of the systems that were solved for the residuals
    exact: bool  # every residual was rounded to its grid


@dataclass(frozen=True, eq=False)
class _Solver:
    """Least squares for one batch: the pseudo-inverse of the coalition's columns, kept for when the batch recurs.

    Columns are brought to one length: what a gradient holds of each has its own last place, and columns of different
    sizes would else cost as many digits as their sizes differ by.
    """

    columns: FloatArray  # (batch, columns), each of length one
    lengths: FloatArray  # before
    inverse: FloatArray  # (batch, columns)
    rank: int
    condition: float


def read_trajectory(view: View) -> tuple[IntArray, Trajectory] | NotIdentified:
    """Row ids and the trajectory, by the way that suits the view."""
    if any(True for _ in view.at(linear.VALIDATION_SCORE)) and hold_labels(view):
        validated = trajectory_from_validation(view)
        if validated is not None:
            return validated
    if not reads_the_grid(view):
        return trajectory_from_residuals(view)
    read = read_on_the_grid(view)
    return read if isinstance(read, NotIdentified) else (read.ids, read.trajectory)


def reads_the_grid(view: View) -> bool:
    """Whether the labels are at hand, and with them sums that the arbiter opened. A model that is not of two classes
    has no other way."""
    two_classes = view.facts.approximation is None or view.facts.approximation in set(Approximation)
    return not two_classes or (hold_labels(view) and hold_steps(view))


def read_on_the_grid(view: View) -> ReadTrajectory | NotIdentified:
    if not hold_labels(view):
        why = "the labels are not known; only those of two classes show in the residuals' signs"
        return NotIdentified(why, 0, undetermined=True)
    members = own_members(view)
    ids = members[0].ids
    position = positions_of(ids)
    form, l2 = residual_of(view.facts), l2_of(view.facts)
    noise = OwnNoise(view)
    rounds, numbers = [], []
    worst, exact = 1.0, True
    solvers: dict[bytes, _Solver] = {}
    for message in view.at(linear.BATCH):
        if not isinstance(message.payload, Array) or not all(message.round in m.pushes for m in members):
            continue
        rows = np.array([position[int(row)] for row in message.payload.values], dtype=np.int64)
        key = rows.tobytes()
        if key not in solvers:
            solvers[key] = _solver(members, rows)
        solver = solvers[key]
        if solver.rank < len(rows):
            why = f"a batch of {len(rows)} rows has only {solver.rank} independent own columns: no score is determined"
            return NotIdentified(why, solver.rank)
        residuals, error = _grid_residuals(members, message.round, solver, l2, view.facts.fraction_bits)
        own = sum(
            (m.share(rows, message.round, form, noise.on_scores(m.name, message.round)) for m in members),
            np.zeros(len(rows)),
        )
        scores = (residuals - own) / form.slope
        errors = np.hypot(_error_on_the_grid(view, form, error), IN_FLOATS * np.abs(scores))
        rounds.append(Round(rows, rate_of(view.facts, message.round), residuals, scores, errors))
        numbers.append(message.round)
        worst = max(worst, solver.condition)
        exact = exact and not error.any()
    if not rounds:
        raise MissingFromViewError("the view holds no round with a batch and the coalition's gradient")
    trajectory = Trajectory(len(ids), l2, tuple(rounds), _over_all(rounds), form.slope)
    return ReadTrajectory(ids, np.array(numbers, dtype=np.int64), trajectory, worst, exact)


def _over_all(rounds: list[Round]) -> float:
    """Root mean square of the scores' errors."""
    return float(np.sqrt(np.mean(np.concatenate([np.square(one.errors) for one in rounds if one.errors is not None]))))


def _solver(members: list[OwnMember], rows: IntArray) -> _Solver:
    columns = np.hstack([member.scaled(rows) for member in members])
    lengths = np.linalg.norm(columns, axis=0)
    lengths[lengths == 0] = 1.0
    columns = columns / lengths
    left, singular, right = np.linalg.svd(columns, full_matrices=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) else 0
    inverse = left[:, :rank] @ (right[:rank] / singular[:rank, None])
    return _Solver(columns, lengths, inverse, rank, float(singular[0] / singular[rank - 1]) if rank else float("inf"))


def _grid_residuals(
    members: list[OwnMember], number: int, solver: _Solver, l2: float, fraction_bits: int | None
) -> tuple[FloatArray, FloatArray]:
    """d of the batch, and its error from floating point: 0 where d could be rounded to the grid of its encoding."""
    products = np.concatenate([member.product(number, l2) for member in members]) / solver.lengths
    residuals = solver.inverse @ products
    residuals = residuals + solver.inverse @ (products - solver.columns.T @ residuals)
    pushes = np.concatenate([member.pushes[number] for member in members]) / solver.lengths
    # A decoded gradient is off by a few units in its last place, and so is the product that the solve inverts.
    last_places = EPSILON * (np.abs(pushes) + np.abs(solver.columns).T @ np.abs(residuals))
    error = np.sqrt(np.square(solver.inverse) @ np.square(last_places))
    if fraction_bits is None or not all(member.encoded for member in members):
        return residuals, error
    grid = 2.0**-fraction_bits
    if SNAP_MARGIN * float(error.max(initial=0.0)) > grid:
        return residuals, error
    return np.rint(residuals / grid) * grid, np.zeros(len(residuals))


def _error_on_the_grid(view: View, form: LinearResidual, solving: FloatArray) -> FloatArray:
    """Standard deviation of each score's error: each victim's rounding, the solve's own error, declared noise."""
    bits = view.facts.fraction_bits
    rounding = 0.0 if bits is None else 2.0**-bits * np.sqrt(len(outsiders(view.facts, view.coalition)) / 12)
    errors = np.hypot(np.hypot(rounding, solving) / form.slope, view.facts.outside_noise or 0.0)
    return np.maximum(errors, EPSILON)


def trajectory_from_validation(view: View) -> tuple[IntArray, Trajectory] | None:
    """Where every round but the first ones begins with scores that were sent in plaintext: a full batch, validated
    after every epoch. Residuals then follow from scores and labels, and no batch is too large."""
    owners = tuple(party.name for party in outsiders(view.facts, view.coalition))
    found = list(validated_rounds(view, owners))
    numbers = [message.round for message in view.at(linear.BATCH)]
    if len(found) < 3 or [one.number for one in found] != numbers[-len(found) :]:
        return None
    members, form, l2 = own_members(view), residual_of(view.facts), l2_of(view.facts)
    position, noise = positions_of(members[0].ids), OwnNoise(view)
    rounds = []
    for one in found:
        rows = np.array([position[int(row)] for row in one.ids], dtype=np.int64)
        parts = (m.share(rows, one.number, form, noise.on_scores(m.name, one.number)) for m in members)
        residuals = sum(parts, form.slope * one.scores)
        errors = np.maximum(_error_on_the_grid(view, form, np.zeros(len(rows))), IN_FLOATS * np.abs(one.scores))
        rounds.append(Round(rows, rate_of(view.facts, one.number), residuals, one.scores, errors))
    return members[0].ids, Trajectory(len(members[0].ids), l2, tuple(rounds), _over_all(rounds), form.slope)


def trajectory_from_residuals(view: View) -> tuple[IntArray, Trajectory] | NotIdentified:
    """Row ids and the rounds before the first with an open residual: later weights cannot be followed."""
    found = outside_scores(view)
    rounds = []
    for one in found.rounds:
        if not np.isfinite(one.residuals).all():
            break
        errors = np.full(len(one.rows), float(np.hypot(one.error, view.facts.outside_noise or 0.0)) or EPSILON)
        rounds.append(Round(one.rows, rate_of(view.facts, one.round), one.trained_with, one.scores, errors))
    if not rounds:
        return NotIdentified("no batch has as many independent equations as rows, so no score is determined", 0)
    slope = 1 / SENSITIVITY[approximation_of(view)]
    l2 = l2_of(view.facts)
    return found.row_ids, Trajectory(len(found.row_ids), l2, tuple(rounds), _over_all(rounds), slope)
