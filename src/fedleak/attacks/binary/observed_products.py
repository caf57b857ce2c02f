"""α = XᵀX and β = XᵀY of the rows behind observed updates, one group of rows after the other (Li et al. 2019, sections
3.2 to 3.4): by an affine map, by a product of local steps, or extrapolated where the rate decays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from fedleak.attacks.binary.affine_fit import AffineFit, fit_rows
from fedleak.attacks.binary.observations import Observations, kinds_of_columns, merged
from fedleak.attacks.binary.step_products import (
    LocalSteps,
    Product,
    alike_steps,
    first_estimate,
    sum_of_grams,
    without_mean_spread,
)
from fedleak.core.arrays import FloatArray, IntArray

ROUNDS_SAFELY = 0.35  # farther than this from an integer, an entry is not taken for one
EXACT_TO = 1e-3  # a directly solved inner product of binary columns is an integer to within this
TRUSTED_ERROR = 0.12  # a standard error above this makes rounding a gamble
PRECISE = 0.005  # of the range of a column's inner products
UNSTEADY = "rows change from round to round, or noise is added"
EXPLAINED = 50.0  # a misfit of more than so many times the rounding noise means that the model does not hold


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products over one group of rows; ``why`` says what is wrong where ``alpha`` is None."""

    n_rows: int
    fit: AffineFit
    alpha: FloatArray | None
    beta: FloatArray | None
    needs_integers: bool  # an approximation: right only where it can be rounded
    why: str = ""
    in_part: FloatArray | None = None  # (d, d + 1): α and β of least norm, where the fit does not determine them

    @property
    def integral(self) -> bool:
        """Every entry is close enough to an integer, and known well enough, to be rounded: one that is known better
        than it is close to an integer is none."""
        near = ROUNDS_SAFELY if self.needs_integers else min(ROUNDS_SAFELY, EXACT_TO + 4 * self.fit.uncertainty)
        return self.alpha is not None and self.fit.uncertainty < TRUSTED_ERROR and self.distance < near

    @property
    def precise(self) -> bool:
        """Rounded, or known to a share of what the inner products of each column differ by."""
        if self.alpha is None or self.integral:
            return self.integral
        spread = np.ptp(self.alpha, axis=0)
        return 4 * self.fit.uncertainty <= PRECISE * float(spread[spread > 0].min(initial=np.inf))

    @property
    def distance(self) -> float:
        """Of the worst entry of α from an integer."""
        return float(np.abs(self.alpha - np.rint(self.alpha)).max()) if self.alpha is not None else float("nan")


def observed_products(seen: Observations, rng: np.random.Generator) -> list[Products]:
    """One entry for each group of rows that appears together in an update."""
    kinds = kinds_of_columns(seen)
    return [_for_all_columns(found, kinds) for found in _of_distinct_columns(merged(seen, kinds), rng)]


def _for_all_columns(found: Products, kinds: IntArray) -> Products:
    if found.in_part is not None:
        sides = np.append(kinds, found.in_part.shape[0])
        return replace(found, in_part=found.in_part[np.ix_(kinds, sides)])
    if found.alpha is None or found.beta is None:
        return found
    return replace(found, alpha=found.alpha[np.ix_(kinds, kinds)], beta=found.beta[kinds])


def _of_distinct_columns(seen: Observations, rng: np.random.Generator) -> list[Products]:
    if seen.local_steps:
        return [_of_local_steps(seen, rng)]
    if any(outsider.shuffled and len(outsider.batch_sizes) > 1 for outsider in seen.outsiders):
        return [_of_changing_batches(seen)]
    period = lcm(*(len(outsider.batch_sizes) for outsider in seen.outsiders))
    found = []
    for phase in range(period):
        part = seen.of_rounds(seen.rounds % period == phase)
        n_rows = sum(outsider.batch_sizes[phase % len(outsider.batch_sizes)] for outsider in seen.outsiders)
        found.append(_of_one_batch(part, n_rows))
    return found


def _of_one_batch(seen: Observations, n_rows: int) -> Products:
    """Δ = λ(αθ/4 − β/2), the same rows in every round (section 3.2)."""
    fit = _fit_affine(seen, np.ones(len(seen.rates)))
    return _from_affine(fit, n_rows, needs_integers=False)


def _of_changing_batches(seen: Observations) -> Products:
    """Batches dealt anew: an update has the expected share of all rows, and the draw of the batch as noise."""
    sizes = np.array(
        [
            sum(outsider.batch_sizes[number % len(outsider.batch_sizes)] for outsider in seen.outsiders)
            for number in seen.rounds
        ]
    )
    fit = _fit_affine(seen, sizes / seen.n_rows)
    return _from_affine(fit, seen.n_rows, needs_integers=True)


def _fit_affine(seen: Observations, shares: FloatArray) -> AffineFit:
    """Unknowns (α | β) of Δ / λ = share · (αθ/4 − β/2)."""
    design = shares[:, None] * np.column_stack([seen.models / 4, np.full(len(seen.models), -0.5)])
    slowest = float(seen.rates.min(initial=np.inf))  # of no round at all nothing is off
    return fit_rows(design, seen.updates / seen.rates[:, None], seen.shared(), *seen.errors(slowest))


def _from_affine(fit: AffineFit, n_rows: int, *, needs_integers: bool) -> Products:
    if not fit.determined:
        return _in_part(n_rows, fit, fit.slope[:, -1], needs_integers=needs_integers)
    alpha = fit.slope[:, :-1]
    why = _misfit(fit) or _asymmetry(alpha, fit)
    return Products(n_rows, fit, (alpha + alpha.T) / 2, fit.slope[:, -1], needs_integers, why)


def _of_local_steps(seen: Observations, rng: np.random.Generator) -> Products:
    """A pass over several batches: P = I − Γ is a product of steps, and c of the batches' β (theorem 1)."""
    n_batches = {len(outsider.batch_sizes) for outsider in seen.outsiders}
    deepest = max(n_batches)
    if float(np.ptp(seen.rates)) > 0:
        return _by_extrapolation(seen, deepest)
    step = float(seen.rates[0]) / 4
    design = np.column_stack([seen.models, np.ones(len(seen.models))])
    fit = fit_rows(design, seen.updates / step, seen.shared(), *seen.errors(step))  # Γ/s = Σα + …, c/s = −2η
    if not fit.determined:
        return _in_part(seen.n_rows, fit, -fit.slope[:, -1] / 2, needs_integers=True)
    n_parties, d = len(seen.outsiders), seen.n_columns
    mean_product = np.eye(d) - step * fit.slope[:, :-1] / n_parties
    product = Product(mean_product, step, deepest, seen.n_rows // n_parties)
    steps = _steps(product, seen, rng)
    if steps is None:
        overshoots = "the learning rate is so large that local steps overshoot: their product has no usable logarithm"
        why = _misfit(fit) or overshoots
        return Products(seen.n_rows, fit, None, None, True, why)
    # η = Σ_i [∏_{j>i} (I − sα_j)] β_i (theorem 1), with every β_i near β/n
    mean_later: FloatArray = np.asarray(np.mean(steps.later_steps, axis=0), dtype=np.float64)
    beta = np.asarray(np.linalg.solve(mean_later, -fit.slope[:, -1] / 2), dtype=np.float64)
    return Products(seen.n_rows, fit, n_parties * steps.total, beta, True, _misfit(fit))


def _steps(product: Product, seen: Observations, rng: np.random.Generator) -> LocalSteps | None:
    """Of a mean party. The fit of single batches needs one party with one order of batches; else all count as alike."""
    if len(seen.outsiders) == 1 and not seen.outsiders[0].shuffled:
        return sum_of_grams(product, rng)
    total = first_estimate(product)
    if total is not None and len(seen.outsiders) == 1:
        total = without_mean_spread(product, total)  # between parties it cancels against the spread of their sums
    return None if total is None else alike_steps(product, total)


def _by_extrapolation(seen: Observations, n_batches: int) -> Products:
    """Several learning rates: Γ(s) and c(s) are polynomials of degree n in s, with first coefficients Σα and −2Σβ."""
    largest = float(seen.rates.max()) / 4
    powers = [(seen.rates / 4 / largest) ** k for k in range(1, n_batches + 1)]
    models = np.column_stack([seen.models, np.ones(len(seen.models))])
    design = np.hstack([power[:, None] * models for power in powers])
    fit = fit_rows(design, seen.updates / largest, seen.shared(), *seen.errors(largest))
    if not fit.determined:
        return _in_part(seen.n_rows, fit, -fit.slope[:, seen.n_columns] / 2, needs_integers=True)
    d = seen.n_columns
    alpha = fit.slope[:, :d]
    return Products(seen.n_rows, fit, (alpha + alpha.T) / 2, -fit.slope[:, d] / 2, True, _misfit(fit))


def _in_part(n_rows: int, fit: AffineFit, beta: FloatArray, *, needs_integers: bool) -> Products:
    """α is symmetric, and the mean with its transpose never farther from it. Of steps that follow one another this is
    the first order. A column whose updates were never sent has nothing."""
    alpha = fit.slope[:, : len(fit.slope)]
    cells = np.nan_to_num(np.column_stack([(alpha + alpha.T) / 2, beta]))
    return Products(n_rows, fit, None, None, needs_integers, _too_few(fit), cells)


def _too_few(fit: AffineFit) -> str:
    spanned = f"the models of {fit.n_pairs} rounds span {fit.rank} of the {fit.needed} directions that are needed"
    return f"{spanned}, at the precision of the updates"


def _asymmetry(alpha: FloatArray, fit: AffineFit) -> str:
    """What checks an answer where there are no more rounds than unknowns: α is symmetric, and nothing made it so."""
    apart = float(np.abs(alpha - alpha.T).max(initial=0.0))
    if apart <= EXPLAINED * fit.uncertainty + 1e-9 * float(np.abs(alpha).max(initial=0.0)):
        return ""
    return f"αᵢⱼ and αⱼᵢ are up to {apart:.2g} apart: {UNSTEADY}"


def _misfit(fit: AffineFit) -> str:
    if fit.misfit <= EXPLAINED:
        return ""
    return f"the updates do not follow one linear map (misfit {fit.misfit:.3g} times the rounding): {UNSTEADY}"
