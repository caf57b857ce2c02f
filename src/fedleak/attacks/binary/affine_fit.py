"""Least squares for the affine map Δ = Γ θ + c behind observed pairs, with its rank and its uncertainty.

Row i of the map has d unknowns of Γ and one of c: d + 1 pairs with models in general position determine it. (The paper
counts d and leaves c out.) Directions in which the models differ too little for the updates' precision count as
missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray

DIGITS = 20.0  # a direction counts if the noise in it, after division, is below 1/DIGITS of a unit


@dataclass(frozen=True, eq=False)
class AffineFit:
    slope: FloatArray  # (d, d), or (d, unknowns) of a general design
    rank: int  # of the design, at the precision of the updates
    needed: int
    n_pairs: int
    condition: float
    uncertainty: float  # standard error of the worst unknown, from what the fit leaves over
    misfit: float  # root mean square of what the fit leaves over, in units of the noise

    @property
    def determined(self) -> bool:
        return self.rank == self.needed


def fit_rows(design: FloatArray, values: FloatArray, shared: BoolArray, noise: float, added: float = 0.0) -> AffineFit:
    """Solve design · unknownsᵀ = values for each column of ``values``, by the rows that were shared.

    ``noise`` is the standard deviation of one value by rounding; ``added`` is declared, and there even where few rows
    leave so little over that it does not show.
    """
    if shared.all():
        return _fit(design, values, noise, added)
    fits = [_fit(design[mask], values[mask, i : i + 1], noise, added) for i, mask in enumerate(shared.T)]
    worst = min(fits, key=lambda fit: fit.rank)
    return AffineFit(
        np.vstack([fit.slope for fit in fits]),
        worst.rank,
        worst.needed,
        worst.n_pairs,
        max(fit.condition for fit in fits),
        max(fit.uncertainty for fit in fits),
        max(fit.misfit for fit in fits),
    )


def _fit(design: FloatArray, values: FloatArray, noise: float, added: float) -> AffineFit:
    n_pairs, needed = design.shape
    if n_pairs == 0:
        return AffineFit(np.full((values.shape[1], needed), np.nan), 0, needed, 0, np.inf, np.inf, 0.0)
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    usable = singular > max(DIGITS * noise, 1e-13 * float(singular[0]))
    rank = int(usable.sum())
    unknowns = right[usable].T @ ((left[:, usable].T @ values) / singular[usable, None])
    free = n_pairs - rank
    leftover = values - design @ unknowns
    spread = float(np.sqrt((leftover**2).sum() / (free * values.shape[1]))) if free > 0 else noise
    spread = max(spread, added)
    variances = ((right[usable].T / singular[usable]) ** 2).sum(axis=1)
    return AffineFit(
        unknowns.T,
        rank,
        needed,
        n_pairs,
        float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf"),
        max(spread, noise) * float(np.sqrt(variances.max(initial=0.0))),
        spread / noise if noise > 0 else 0.0,
    )
