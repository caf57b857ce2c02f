"""When inner products fix a binary table: a count of possibilities, and the condition under which solving succeeds.

**Count.** Up to row order there are at most C(2^d + m − 1, m) binary tables of m rows and d columns, about 2^(md)/m!.
Two random tables have the same α with a probability of 2^−H, H the collision entropy of α: with centred columns z the d
counts and d(d − 1)/2 products z_i·z_j are uncorrelated, of variances m p(1 − p) and m p²(1 − p)², and each adds
½ log2(4π variance). A table thus expects 2^(bits of tables − H) doubles. Where that is above 1 a larger batch protects;
where it is far below, doubles are the exception (tables that differ in few rows have more of them than the count says).

**Certificate.** The exact condition for a given table is checked by the attack: the columns and the column of ones
generate ℤᵐ (see the attack ``binary-records``). It needs rank m, so d + 1 ≥ m.
"""

from __future__ import annotations

from math import lgamma, log, log2, pi

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Theorem, at_most
from fedleak.theory.horizontal_rounds import LinearUpdate, n_columns, rows_of_update

SAFE_EXCESS = 4  # random tables with d ≥ m + 4 are certified in nearly every draw


def table_bits(n_rows: int, n_cols: int, density: float = 0.5) -> float:
    """Bits of a random binary table up to row order; log2 m! is what the order would have told."""
    cell = -density * log2(density) - (1 - density) * log2(1 - density)
    ordered = n_rows * n_cols * cell - lgamma(n_rows + 1) / log(2)
    kinds = 2.0**n_cols if n_cols < 500 else float("inf")
    if kinds > 1e6 * n_rows:
        return ordered
    return (lgamma(kinds + n_rows) - lgamma(n_rows + 1) - lgamma(kinds)) / log(2)  # log2 C(kinds + m − 1, m)


def collision_bits(n_rows: int, n_cols: int, density: float = 0.5) -> float:
    """H: two random tables share their inner products with probability 2^-H, by the normal approximation."""
    variance = density * (1 - density)
    own = 0.5 * log2(4 * pi * n_rows * variance)
    pair = 0.5 * log2(4 * pi * n_rows * variance**2)
    return n_cols * max(own, 0.0) + n_cols * (n_cols - 1) / 2 * max(pair, 0.0)


def expected_doubles(n_rows: int, n_cols: int, density: float = 0.5) -> float:
    """Other tables with the same α, on average, by the count; capped to stay a number."""
    return float(2.0 ** min(table_bits(n_rows, n_cols, density) - collision_bits(n_rows, n_cols, density), 1000.0))


def fewest_columns(n_rows: int, density: float = 0.5) -> int:
    """From this many columns on, a random table expects less than one double."""
    d = 4 * n_rows
    while d > 1 and expected_doubles(n_rows, d - 1, density) < 1:
        d -= 1
    return d


class BinaryUniqueness(Theorem):
    name = "li2019/binary-uniqueness"
    summary = "binary records follow from the columns' inner products where columns outnumber the rows of a batch"
    reference = Reference("li2019", "section 3.2; certificate by fedleak")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        columns, rows = n_columns(facts), rows_of_update(facts)
        return Assessment(
            cls.name,
            (
                *LinearUpdate.assess(facts).conditions,
                at_most(
                    f"the rows of an update and {SAFE_EXCESS} more are at most the columns",
                    None if rows is None else rows + SAFE_EXCESS,
                    columns,
                ),
            ),
            conclusion="binary columns of every record are determined, up to the order of the records",
        )
