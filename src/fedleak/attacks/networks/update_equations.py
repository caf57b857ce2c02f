"""Equations of one update on rows, labels and visits: local training, run again, gives what was sent.

As for one gradient (``batch_equations``) rows [x_k, 1] = q_k B^T lie in the space that the first layer's part shows,
and K - 1 numbers of each are open. Which step visits which row may be open too: visits are then numbers, which add up
to 1 over the steps and to the size of a batch over the rows of each, and come out whole where rounding lets them.
Unknowns are found by Levenberg-Marquardt, exact derivatives through all steps, residuals in units of rounding; far from
a solution with a floor below them, a share of each layer's size, that falls from search to search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.client_updates import ClientUpdate
from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.attacks.networks.local_training import LocalTraining
from fedleak.attacks.networks.moving_arrays import Moving, still, together
from fedleak.core.arrays import FloatArray, Value

STEPS, TRIES = 40, 12  # of one search; dampings of one step
SHOWN = 1.2  # times the largest singular value of rounding
SETTLED, IDLE = 1e-3, 2  # so many steps running that lower the residual by less are the last


@dataclass(frozen=True, eq=False)
class UpdateEquations(Value):
    """``blocks``: [dW | db] of every layer, summed over the steps; ``noise``: of the first a number for each unit, of
    others for each number."""

    training: LocalTraining
    factors: LayerFactors
    blocks: tuple[FloatArray, ...]
    noise: tuple[FloatArray, ...]
    n_steps: int

    @property
    def n_rows(self) -> int:
        return self.factors.n_rows

    @property
    def repeated(self) -> bool:
        """Every step visits every row."""
        return self.n_rows == self.training.batch_size

    def even(self) -> FloatArray:
        """(steps, rows): visits where nothing is known of their order."""
        return np.full((self.n_steps, self.n_rows), self.training.batch_size / self.n_rows)

    def ways(self) -> tuple[FloatArray, FloatArray]:
        """What visits may move along: (steps, steps - 1) and (rows, rows - 1), sums of which stay as they are."""
        return _across(self.n_steps), _across(self.n_rows)


@dataclass(frozen=True, eq=False)
class Place(Value):
    """Where a search is: ``misfit`` is the squared residual for each equation to spare, in roundings."""

    mixes: FloatArray
    visits: FloatArray
    misfit: float = np.inf


def update_equations(seen: ClientUpdate, training: LocalTraining) -> UpdateEquations | None:
    """None where the first layer's part is zero throughout, or has no rank below full that rounding would show."""
    top = training.top
    blocks = [top.gradient_of(place, seen.sums) for place in range(len(top.layers))]
    spread = [top.gradient_of(place, seen.noise) for place in range(len(top.layers))]
    factors = _factors(blocks[0], np.sqrt((spread[0] ** 2).mean(axis=1)))
    if factors is None:
        return None
    return UpdateEquations(training, factors, tuple(blocks), (factors.noise, *spread[1:]), seen.n_steps)


def _factors(first: FloatArray, noise: FloatArray) -> LayerFactors | None:
    """As of one gradient, with the noise that the spacing of parameters says: the rank is what stands above it."""
    alive = np.any(first != 0, axis=1)
    if alive.sum() < 2:
        return None
    _, values, right = np.linalg.svd(first[alive] / noise[alive, None], full_matrices=False)
    edge = float(np.sqrt(alive.sum()) + np.sqrt(first.shape[1]))  # the largest singular value of white noise
    rank = int((values > SHOWN * edge).sum())
    if not 0 < rank < min(first[alive].shape):
        return None
    basis = right[:rank].T
    return LayerFactors(basis, first @ basis, np.where(alive, noise, 1.0), float(values[rank - 1] / edge))


@dataclass(frozen=True, eq=False)
class Search(Value):
    """Unknowns as one vector: rows' mixes along the ways that leave their bias 1, then visits along theirs."""

    equations: UpdateEquations
    targets: FloatArray
    moving_rows: bool
    moving_visits: bool
    floor: float  # of a layer's size: what residuals are counted in beside rounding

    def from_place(self, start: Place) -> Place:
        at, damping, idle = self._begun(start), 1e-2, 0
        left = self._residual(at, start)
        for _ in range(STEPS if len(at) else 0):
            normal, slope = left.ways @ left.ways.T, left.ways @ left.value
            for _ in range(TRIES):
                tried = at + damped_step(normal, slope, damping)
                after = self._residual(tried, start, moving=False)
                if _squared(after) < _squared(left):
                    break
                damping *= 4
            else:
                break
            gained = 1 - _squared(after) / _squared(left)
            idle = idle + 1 if gained < SETTLED else 0
            at, damping = tried, max(damping / 5, 1e-14)
            left = after if idle == IDLE else self._residual(at, start)
            if idle == IDLE:
                break
        mixes, visits = self._unpacked(still(at), start)
        return Place(mixes.value, visits.value, _squared(left) / max(1, len(left.value) - len(at)))

    def around(self, place: Place) -> Moving:
        """Residuals there, and how the unknowns move them."""
        return self._residual(self._begun(place), place)

    def _begun(self, start: Place) -> FloatArray:
        _, free = _fixed(self.equations.factors)
        steps, rows = self.equations.ways()
        parts = [(start.mixes @ free).ravel()] if self.moving_rows else []
        parts += [(steps.T @ (start.visits - self.equations.even()) @ rows).ravel()] if self.moving_visits else []
        return np.concatenate(parts) if parts else np.zeros(0)

    def _unpacked(self, at: Moving, start: Place) -> tuple[Moving, Moving]:
        n_rows, (shortest, free) = self.equations.n_rows, _fixed(self.equations.factors)
        n_mixes = free.shape[1] * n_rows if self.moving_rows else 0
        mixes, visits = (Moving(one, np.zeros((len(at.ways), *one.shape))) for one in (start.mixes, start.visits))
        if self.moving_rows:
            mixes = at[:n_mixes].reshaped(n_rows, free.shape[1]) @ free.T + shortest
        if self.moving_visits:
            steps, rows = self.equations.ways()
            turned = at[n_mixes:].reshaped(steps.shape[1], rows.shape[1])
            visits = steps @ turned @ rows.T + self.equations.even()
        return mixes, visits

    def _residual(self, at: FloatArray, start: Place, *, moving: bool = True) -> Moving:
        numbers = Moving(at, np.eye(len(at))) if moving else still(at)
        return self.left_over(*self._unpacked(numbers, start))

    def left_over(self, mixes: Moving, visits: Moving, targets: FloatArray | None = None) -> Moving:
        first, *later = self.equations.blocks
        training, basis = self.equations.training, self.equations.factors.basis
        entered = mixes @ (training.entering @ basis).T
        labels = self.targets if targets is None else targets
        made = training.sums(entered, mixes @ mixes.T, labels, visits, training.later)
        mixed = first @ basis
        noise, *others = (
            np.hypot(one, self.floor * np.sqrt((block**2).mean()))
            for one, block in zip(self.equations.noise, (mixed, *later), strict=True)
        )
        parts = [(made[0].T @ mixes * (1 / training.batch_size) - mixed) / noise[:, None]]
        for (weight, bias), block, by in zip(made[1], later, others, strict=True):
            width = weight.shape[1]
            parts.append((weight - block[:, :width]) / by[:, :width])
            parts += [] if bias is None else [(bias - block[:, width]) / by[:, width]]
        return together(parts)


def damped_step(normal: FloatArray, slope: FloatArray, damping: float) -> FloatArray:
    damped = normal + np.diag(damping * np.diag(normal) + 1e-300)
    try:
        return np.asarray(np.linalg.solve(damped, -slope), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(-slope / np.maximum(np.diag(damped), 1e-300))


def _squared(left: Moving) -> float:
    found = float(left.value @ left.value)
    return found if np.isfinite(found) else np.inf


def nearest_mixes(factors: LayerFactors, rows: FloatArray) -> FloatArray:
    """Of rows that may lie anywhere."""
    shortest, free = _fixed(factors)
    return np.asarray(shortest + np.column_stack([rows, np.ones(len(rows))]) @ factors.basis @ free @ free.T)


def _fixed(factors: LayerFactors) -> tuple[FloatArray, FloatArray]:
    """The shortest mix whose entry for the bias is 1, and (K, K - 1) the ways that leave it so."""
    ones = factors.basis[-1]
    return ones / (ones @ ones), np.linalg.svd(ones[None])[2][1:].T


def _across(length: int) -> FloatArray:
    return np.asarray(np.linalg.svd(np.ones((1, length)))[2][1:].T)
