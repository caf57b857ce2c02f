"""The privacy budget of noisy gradient steps: Renyi divergences of the Gaussian mechanism on sampled rows.

Abadi et al. 2016 (DP-SGD): rows' gradients are cut to length C and noise of deviation C z is added to their sum. One
step on rows that are each drawn with probability q has, at whole orders a (Mironov, Talwar, Zhang 2019, section 3.3),

    RDP(a) <= log(sum_k binom(a, k) (1 - q)^(a - k) q^k exp(k (k - 1) / (2 z^2))) / (a - 1),

steps add up, and orders turn into (epsilon, delta) by Canonne, Kamath and Steinke 2020, proposition 12. Who knows which
rows were drawn has no benefit of the doubt: q = 1, once for each visit to the row.
"""

from __future__ import annotations

from functools import cache
from math import exp, inf, lgamma, log, log1p

from fedleak.core.errors import InputError

ORDERS = (*range(2, 65), 80, 96, 128, 192, 256, 512, 1024)


@cache
def renyi_divergence(order: int, sampling: float, noise: float) -> float:
    """Of one step; ``noise`` is its deviation in units of the clipping length."""
    if sampling == 1.0:
        return order / (2 * noise**2)
    terms = [
        lgamma(order + 1)
        - lgamma(k + 1)
        - lgamma(order - k + 1)
        + (order - k) * log1p(-sampling)
        + k * log(sampling)
        + k * (k - 1) / (2 * noise**2)
        for k in range(order + 1)
    ]
    largest = max(terms)
    return (largest + log(sum(exp(term - largest) for term in terms))) / (order - 1)


def epsilon_of(*, noise: float, sampling: float, steps: float, delta: float) -> float:
    """The smallest over the orders; infinite without noise."""
    if not 0 < delta < 1:
        raise InputError(f"delta must be between 0 and 1; got {delta}")
    if not 0 < sampling <= 1 or noise < 0 or steps < 0:
        raise InputError(f"sampling must be in (0, 1], noise and steps 0 or more; got {sampling}, {noise}, {steps}")
    if noise == 0 or steps == 0:
        return inf if steps else 0.0
    return max(0.0, min(_converted(order, steps * renyi_divergence(order, sampling, noise), delta) for order in ORDERS))


def _converted(order: int, divergence: float, delta: float) -> float:
    return divergence + log1p(-1 / order) - (log(delta) + log(order)) / (order - 1)
