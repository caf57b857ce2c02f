"""How likely luck alone reaches a figure, from draws of luck."""

from __future__ import annotations

from math import exp, lgamma

from fedleak.core.arrays import FloatArray, IntArray

MANY = 200  # draws from which their skewness can be told


def tail(value: float, drawn: FloatArray, least: float = 0.0) -> float:
    """The share of draws, the value itself among them, that reach it. Where none does, the tail of a gamma distribution
    with the draws' mean, variance and skewness (Winkler et al. 2016); of few draws, Student's for one more of them.
    ``least``: what no figure is less likely than."""
    reached, n = int((drawn >= value).sum()), len(drawn)
    if reached or n < 2:
        return (1 + reached) / (1 + n)
    mean, spread = float(drawn.mean()), float(drawn.std(ddof=1))
    if spread <= 1e-12 * abs(value):
        return 1.0  # nothing to shuffle
    deviations = (value - mean) / spread
    if n < MANY:
        return max(least, _student_tail(deviations, n))
    return max(least, min(_gamma_tail(deviations, (drawn - mean) / spread), 1 / (1 + n)))


def _gamma_tail(deviations: float, drawn: FloatArray) -> float:
    from scipy.special import gammaincc

    skewness = float((drawn**3).mean())
    if skewness < 1e-2:
        return normal_tail(deviations, 0.0, 1.0)
    shape = 4 / skewness**2
    return float(gammaincc(shape, shape + shape**0.5 * deviations))


def _student_tail(deviations: float, n: int) -> float:
    from scipy.special import stdtr

    return float(stdtr(n - 1, -deviations / (1 + 1 / n) ** 0.5))


def normal_tail(value: float, mean: float, spread: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-(value - mean) / spread)) if spread > 0 else 1.0


def fewest_shuffles(sizes: IntArray) -> float:
    """One in so many: the ways to deal out groups of equal rows. No figure of shuffled rows is less likely."""
    ways = lgamma(float(sizes.sum()) + 1) - sum(lgamma(float(size) + 1) for size in sizes)
    return exp(-ways)


def mean_tail(differences: FloatArray) -> float:
    """How likely a mean so far above 0 is, of differences whose mean is none (Student)."""
    from scipy.special import stdtr

    n, spread = len(differences), float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    mean = float(differences.mean()) if n else 0.0
    if spread <= 1e-12 * abs(mean):
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(n - 1, -mean * n**0.5 / spread))
