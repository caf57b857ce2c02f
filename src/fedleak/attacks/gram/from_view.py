"""Read a trajectory from a view: the coalition's own gradients give the residuals, and those the victim's scores.

g = X^T d / m + l2 w with everything known but d (section 4.1 of Li et al. 2021): as many independent own columns as
batch rows determine d. The parties computed with encoded numbers, and the coalition knows its own encodings exactly,
so it solves with them; where the system is well conditioned, d is then rounded to the grid it lies on, and is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.gram.from_residuals import trajectory_from_residuals
from fedleak.attacks.gram.members import OwnMember, hold_labels, hold_steps, own_members
from fedleak.attacks.gram.solution import NotIdentified
from fedleak.attacks.gram.trajectory import Round, Trajectory
from fedleak.attacks.training.own_noise import OwnNoise
from fedleak.attacks.training.schedule import ResidualForm, number_option, rate_of
from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation

RANK_TOLERANCE = 1e-9  # singular values below this share of the largest count as zero
SNAP_MARGIN = 12.0  # the grid must be this many times the floating-point error for rounding to be safe
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ReadTrajectory:
    ids: IntArray  # row ids, in the table's order
    round_numbers: IntArray
    trajectory: Trajectory
    condition: float  # worst of the systems that were solved for the residuals
    exact: bool  # every residual was rounded to its grid


@dataclass(frozen=True, eq=False)
class _Solver:
    """Least squares for one batch: the pseudo-inverse of the coalition's columns, kept for when the batch recurs."""

    columns: FloatArray  # (batch, columns)
    inverse: FloatArray  # (batch, columns)
    rank: int
    condition: float


def read_trajectory(view: View) -> tuple[IntArray, Trajectory] | NotIdentified:
    """Row ids and the trajectory, by the way that suits the view."""
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
        return NotIdentified("the labels are not known; only those of two classes show in the residuals' signs", 0)
    members = own_members(view)
    ids = members[0].ids
    position = {int(row): index for index, row in enumerate(ids)}
    form, l2 = ResidualForm.of(view.facts), number_option(view.facts, "l2", 0.0)
    noise = OwnNoise(view)
    rounds, numbers = [], []
    worst, errors = 1.0, []
    solvers: dict[bytes, _Solver] = {}
    for message in view.at(steps.BATCH):
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
        residuals, error = _residuals(members, message.round, solver, l2, view.facts.fraction_bits)
        own = sum(
            (m.share(rows, message.round, form, noise.on_scores(m.name, message.round)) for m in members),
            np.zeros(len(rows)),
        )
        rounds.append(Round(rows, rate_of(view.facts, message.round), residuals, (residuals - own) / form.slope))
        numbers.append(message.round)
        worst = max(worst, solver.condition)
        errors.append(error)
    if not rounds:
        raise MissingFromViewError("the view holds no round with a batch and the coalition's gradient")
    blur = _noise(view, form, float(np.sqrt(np.mean(np.square(errors)))))
    trajectory = Trajectory(len(ids), l2, tuple(rounds), blur, form.slope)
    return ReadTrajectory(ids, np.array(numbers, dtype=np.int64), trajectory, worst, not any(errors))


def _solver(members: list[OwnMember], rows: IntArray) -> _Solver:
    columns = np.hstack([member.scaled(rows) for member in members])
    left, singular, right = np.linalg.svd(columns, full_matrices=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) else 0
    inverse = left[:, :rank] @ (right[:rank] / singular[:rank, None])
    return _Solver(columns, inverse, rank, float(singular[0] / singular[rank - 1]) if rank else float("inf"))


def _residuals(
    members: list[OwnMember], number: int, solver: _Solver, l2: float, fraction_bits: int | None
) -> tuple[FloatArray, float]:
    """d of the batch, and its error from floating point: 0 where d could be rounded to the grid of its encoding."""
    products = np.concatenate([member.product(number, l2) for member in members])
    residuals = solver.inverse @ products
    pushes = np.concatenate([member.pushes[number] for member in members])
    # A decoded gradient is off by a few units in its last place, and so is the product that the solve inverts.
    last_places = EPSILON * (np.abs(pushes) + np.abs(solver.columns).T @ np.abs(residuals))
    error = np.sqrt(np.square(solver.inverse) @ np.square(last_places))
    if fraction_bits is None or not all(member.encoded for member in members):
        return residuals, float(np.sqrt(np.mean(error**2)))
    grid = 2.0**-fraction_bits
    if SNAP_MARGIN * float(error.max(initial=0.0)) > grid:
        return residuals, float(np.sqrt(np.mean(error**2)))
    return np.rint(residuals / grid) * grid, 0.0


def _noise(view: View, form: ResidualForm, solving: float) -> float:
    """Standard deviation of a score's error: the victim's rounding, the solve's own error, declared noise."""
    bits = view.facts.fraction_bits
    rounding = 0.0 if bits is None else 2.0**-bits / np.sqrt(12)
    errors = np.hypot(rounding, solving) / form.slope
    return float(np.hypot(errors, view.facts.outside_noise or 0.0)) or EPSILON
