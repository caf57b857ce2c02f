"""Limited-memory BFGS (Liu and Nocedal 1989) on many small problems at once, each with a length of step of its own.

Networks of ReLU and max pooling are linear in pieces, so that near an answer the misfit is a quadratic function with
very unequal axes: steps of one size for all of them take thousands, these a hundred. A step that does not lower a row's
cost is taken back and shortened, of that row alone; rows that are done leave the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedleak.models.joint_training import load_torch

# Costs of some rows and their slopes: (rows' values, which rows) -> (cost of each, its slope).
Costs = Callable[[Any, Any], tuple[Any, Any]]

MEMORY = 12  # steps that are remembered
SHORTER = 0.3
SHORTEST = 1e-3  # of a step: what was remembered is no use there
FIRST_LENGTH = 0.05  # of the first step
CURVED = 1e-10  # cosine of a step and of the change of the slope
LOOKS_EVERY = 20
STALLED = 0.98  # of its cost LOOKS_EVERY steps before


def descended(costs: Costs, start: Any, n_steps: int, *, enough: float, boxed: bool) -> Any:
    """``start``: a row each, flat. Rows stop below ``enough``, or where their cost no longer falls; ``boxed`` keeps
    values from 0 to 1."""
    found, batch = start.clone(), _Rows(costs, start, boxed)
    before = batch.cost.clone()
    for step in range(n_steps):
        if step % LOOKS_EVERY == 0:
            going = batch.cost > enough
            if step:
                going &= batch.cost < STALLED * before
            found[batch.rows[~going]] = batch.values[~going]
            if not going.any():
                return found
            batch.keep(going)
            before = batch.cost.clone()
        batch.step()
    found[batch.rows] = batch.values
    return found


class _Rows:
    """Those that are not done yet. ``_moves`` and ``_turns`` are the last steps and what they changed in the slope."""

    def __init__(self, costs: Costs, start: Any, boxed: bool) -> None:
        self._torch = load_torch("matching inputs")
        self._costs, self._boxed = costs, boxed
        self.values, self.rows = start.clone(), self._torch.arange(len(start))
        self.cost, self._slope = costs(start, self.rows)
        self._moves = self._torch.zeros((MEMORY, *start.shape))
        self._turns, self._weights = self._moves.clone(), self._moves[:, :, 0].clone()
        self._n_steps = 0
        self._scale = FIRST_LENGTH / self._slope.norm(dim=1).clamp_min(1e-30)
        self._length, self._way = self._torch.ones(len(start)), -self._scale[:, None] * self._slope

    def keep(self, going: Any) -> None:
        for name in ("values", "rows", "cost", "_slope", "_scale", "_length", "_way"):
            setattr(self, name, getattr(self, name)[going])
        for name in ("_moves", "_turns", "_weights"):
            setattr(self, name, getattr(self, name)[:, going])

    def step(self) -> None:
        tried = self.values + self._length[:, None] * self._way
        if self._boxed:
            tried.clamp_(0.0, 1.0)
        cost, slope = self._costs(tried, self.rows)
        better = cost < self.cost
        self._remember((tried - self.values) * better[:, None], (slope - self._slope) * better[:, None])
        self.values[better], self._slope[better], self.cost[better] = tried[better], slope[better], cost[better]
        self._way[better] = self._direction()[better]
        self._length = self._torch.where(better, 1.0, SHORTER * self._length)
        lost = self._length < SHORTEST
        self._scale[lost] *= 0.1
        self._way[lost] = -self._scale[lost, None] * self._slope[lost]
        self._length[lost] = 1.0

    def _remember(self, move: Any, turn: Any) -> None:
        place, self._n_steps = self._n_steps % MEMORY, self._n_steps + 1
        along = (move * turn).sum(dim=1)
        curved = along > CURVED * move.norm(dim=1) * turn.norm(dim=1)
        self._moves[place], self._turns[place] = move * curved[:, None], turn * curved[:, None]
        self._weights[place] = self._torch.where(curved, 1.0 / along.clamp_min(1e-37), 0.0)
        squared = (turn * turn).sum(dim=1).clamp_min(1e-37)
        self._scale = self._torch.where(curved, along / squared, self._scale)

    def _direction(self) -> Any:
        """The two loops: newest to oldest, and back."""
        way, newest = self._slope.clone(), range(self._n_steps - 1, max(-1, self._n_steps - 1 - MEMORY), -1)
        shares = {}
        for place in (number % MEMORY for number in newest):
            shares[place] = self._weights[place] * (self._moves[place] * way).sum(dim=1)
            way -= shares[place][:, None] * self._turns[place]
        way *= self._scale[:, None]
        for place in reversed(shares):
            share = shares[place] - self._weights[place] * (self._turns[place] * way).sum(dim=1)
            way += share[:, None] * self._moves[place]
        return -way
