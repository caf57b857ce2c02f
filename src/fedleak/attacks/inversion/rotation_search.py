"""All rotations that fit the known cells, depth first, row by row.

This is the construction in the proof of lemma 2 of Li et al. 2021, made to return every solution. A row whose known
cells leave one direction open has the two roots of its norm equation (a negative discriminant ends the branch); a row
with one known cell more is a linear solve. The paper takes the finite set of solutions for one. What is solved so far
is a frame: orthonormal vectors whose images are already known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.inversion.rotation_problem import RotationProblem
from fedleak.core.arrays import FloatArray, IntArray

DEFAULT_NODES = 5000
MAX_SOLUTIONS = 256
DEPENDENT = 1e-7  # a row this close to the rows before it, relative to the largest, adds no direction
NEARLY_DOUBLE = 0.02  # a discriminant this little below zero may be a double root: errors of rows before have piled up
FLAT = 1e-9  # a known-cell pattern with a smaller singular value does not determine the row


@dataclass(frozen=True, eq=False)
class SearchResult:
    """``open_directions`` is the least number of directions that any branch left without an equation."""

    rotations: tuple[FloatArray, ...]
    n_nodes: int
    complete: bool  # False where the budget ended it
    open_directions: int


@dataclass(frozen=True, eq=False)
class _RowSystem:
    """Known cells of one row against the open directions: pattern @ y = target, |y| = 1."""

    unit: FloatArray
    pattern: FloatArray
    target: FloatArray
    slack: float  # error that the tolerance allows in the target
    pivot: float  # row's length outside the frame times the pattern's smallest used singular value
    linear: bool


def search(problem: RotationProblem, *, max_nodes: int = DEFAULT_NODES) -> SearchResult:
    cells = _cells_by_row(problem)
    stack = [_first_frame(problem)]
    found: list[Frame] = []
    n_nodes, least_open = 0, problem.width
    while stack and n_nodes < max_nodes and len(found) < MAX_SOLUTIONS:
        node = stack.pop()
        n_nodes += 1
        if node.n_open == 0 or _reaches_no_row(problem, node):
            least_open = 0
            found.append(node)
            continue
        system = _best_row(problem, cells, node)
        if system is None:
            least_open = min(least_open, node.n_open)
            continue
        basis = node.complement()
        stack.extend(node.extended(system.unit, basis @ y) for y in _roots(system))
    rotations = tuple(frame.rotation() for frame in found)
    return SearchResult(rotations, n_nodes, not stack, least_open)


def _reaches_no_row(problem: RotationProblem, frame: Frame) -> bool:
    """Whether the open directions change no cell: all rows lie in the span of those that are solved."""
    outside = problem.factor - (problem.factor @ frame.sources) @ frame.sources.T
    return float(np.abs(outside).max()) <= DEPENDENT * float(np.abs(problem.factor).max())


def _first_frame(problem: RotationProblem) -> Frame:
    frame = Frame.empty(problem.width)
    if problem.anchor is None:
        return frame
    source, image = problem.anchor_source(), problem.anchor.weights
    return frame.extended(source / np.linalg.norm(source), image / np.linalg.norm(image))


def _cells_by_row(problem: RotationProblem) -> dict[int, IntArray]:
    """Positions of each row's known cells; a row without any is of use only for the last direction."""
    return {int(row): np.flatnonzero(problem.rows == row) for row in np.unique(problem.rows)}


def _best_row(problem: RotationProblem, cells: dict[int, IntArray], frame: Frame) -> _RowSystem | None:
    """The best-conditioned row that its known cells determine: linear ones before those with two roots."""
    if frame.n_open == 1:
        return _last_direction(problem, frame)
    enough = [row for row, known in cells.items() if len(known) >= frame.n_open - 1]
    systems = [system for row in enough if (system := _row_system(problem, frame, row, cells[row])) is not None]
    return max(systems, key=lambda system: (system.linear, system.pivot), default=None)


def _row_system(problem: RotationProblem, frame: Frame, row: int, known: IntArray) -> _RowSystem | None:
    known_part, unit, length = frame.split(problem.factor[row])
    if length <= DEPENDENT * float(np.abs(problem.factor).max()):
        return None
    columns = problem.columns[known]
    pattern = frame.complement()[columns]
    target = (problem.values[known] - known_part[columns]) / length
    singular = np.linalg.svd(pattern, compute_uv=False)
    n_open = frame.n_open
    linear = len(singular) >= n_open and singular[n_open - 1] > 1e-4
    pivot = float(singular[n_open - 1] if linear else singular[n_open - 2])
    if pivot <= FLAT:
        return None
    return _RowSystem(unit, pattern, target, problem.coarsest / length, pivot * length / problem.scale, linear)


def _last_direction(problem: RotationProblem, frame: Frame) -> _RowSystem:
    """One direction left: its image is known up to sign, and the known cells of all rows vote on the sign."""
    inside = problem.factor - (problem.factor @ frame.sources) @ frame.sources.T
    lengths = np.linalg.norm(inside, axis=1)
    row = int(np.argmax(lengths))
    unit = inside[row] / lengths[row]
    image = frame.complement()[:, 0]
    weights = (problem.factor[problem.rows] @ unit) * image[problem.columns]
    known_part = np.einsum("kp,pk->k", problem.factor[problem.rows] @ frame.sources, frame.images.T[:, problem.columns])
    gaps = problem.values - known_part
    strength = float(np.sqrt(np.sum(weights**2)))
    if strength <= max(1e-6 * problem.scale, problem.coarsest):
        return _RowSystem(unit, np.zeros((0, 1)), np.zeros(0), 0.0, lengths[row] / problem.scale, False)
    target = np.array([np.sum(weights * gaps) / strength**2])
    return _RowSystem(unit, np.ones((1, 1)), target, problem.coarsest / strength, strength / problem.scale, True)


def _roots(system: _RowSystem) -> Iterator[FloatArray]:
    """Unit vectors y with pattern @ y = target: one (linear), two, or none."""
    n_open = system.pattern.shape[1]
    if system.linear:
        y, *_ = np.linalg.lstsq(system.pattern, system.target, rcond=None)
        norm = float(np.linalg.norm(y))
        if norm > 0 and (n_open == 1 or abs(norm - 1) < 0.5):
            yield np.asarray(y / norm, dtype=np.float64)
        return
    left, singular, right = np.linalg.svd(system.pattern, full_matrices=True)
    used = n_open - 1
    base = right[:used].T @ ((left[:, :used].T @ system.target) / singular[:used])
    discriminant = 1.0 - float(base @ base)
    # Below the slack there is no real root: a wrong cell, or a wrong branch. Errors of earlier rows have piled up by
    # now, so the slack is wide; what should have been cut off here fails by its misfit in the end.
    slack = 10 * system.slack * np.sqrt(n_open) / (float(singular[used - 1]) if used else 1.0)
    if discriminant < -max(slack, NEARLY_DOUBLE):
        return
    height = np.sqrt(max(discriminant, 0.0))
    yield base + height * right[-1]
    if height > 0:
        yield base - height * right[-1]


@dataclass(frozen=True, eq=False)
class Frame:
    """``sources`` and ``images`` are orthonormal columns, (n, solved): R maps each source to its image."""

    sources: FloatArray
    images: FloatArray

    @classmethod
    def empty(cls, width: int) -> Frame:
        return cls(np.zeros((width, 0)), np.zeros((width, 0)))

    @property
    def width(self) -> int:
        return int(self.sources.shape[0])

    @property
    def solved(self) -> int:
        return int(self.sources.shape[1])

    @property
    def n_open(self) -> int:
        return self.width - self.solved

    def complement(self) -> FloatArray:
        """An orthonormal basis of what the images leave open, (n, n - solved)."""
        if self.solved == 0:
            return np.eye(self.width)
        whole, _ = np.linalg.qr(self.images, mode="complete")
        return np.asarray(whole[:, self.solved :])

    def split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """A source vector as (known part of its image, unit vector outside the frame, its length there)."""
        along = self.sources.T @ vector
        outside = vector - self.sources @ along
        outside = outside - self.sources @ (self.sources.T @ outside)  # once more: keeps the frame orthonormal
        length = float(np.linalg.norm(outside))
        unit = outside / length if length > 0 else outside
        return self.images @ along, unit, length

    def extended(self, source: FloatArray, image: FloatArray) -> Frame:
        """With one more unit vector and its unit image, both orthogonal to the frame."""
        image = image - self.images @ (self.images.T @ image)
        image = image / np.linalg.norm(image)
        return Frame(np.column_stack([self.sources, source]), np.column_stack([self.images, image]))

    def rotation(self) -> FloatArray:
        """R with R^T source = image; what the frame leaves open is mapped in any orthogonal way."""
        found = self.sources @ self.images.T
        if self.n_open:
            whole, _ = np.linalg.qr(self.sources, mode="complete")
            found = found + whole[:, self.solved :] @ self.complement().T
        return np.asarray(found)
