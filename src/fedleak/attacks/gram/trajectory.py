"""What an attacker has recovered of a training: per round the batch, the rate, the residuals and the victim's scores.

The scores obey z(t) = p(t) v + G c(t) for every row of the table, in the batch or not: W(t) = p(t) W(0) + X^T c(t),
where p shrinks by 1 - rate * l2 a round and c collects -rate / batch * d at the batch's rows. v = X W(0) and G = X X^T
are the unknowns, and they enter linearly. Eq. 3 of Li et al. 2021 is the difference of two such equations for one batch
that recurs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Round:
    rows: IntArray  # positions of the batch in the table
    rate: float
    residuals: FloatArray  # d of the batch
    scores: FloatArray  # z of the batch: the victim's share of the linear score; NaN where it stays open


@dataclass(frozen=True, eq=False)
class Trajectory:
    n_rows: int
    l2: float
    rounds: tuple[Round, ...]
    noise: float  # standard deviation of the error in a score: rounding in the encoding, or declared noise
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

    def disturbed(self, rng: np.random.Generator) -> Trajectory:
        """One more draw of its own noise on top: how far an answer moves then is how far it can be trusted."""
        rounds = []
        for step in self.rounds:
            error = self.noise * rng.standard_normal(len(step.rows))
            rounds.append(
                replace(step, scores=step.scores + error, residuals=step.residuals + self.residual_scale * error)
            )
        return replace(self, rounds=tuple(rounds))
