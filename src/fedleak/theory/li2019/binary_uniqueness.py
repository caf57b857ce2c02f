"""When inner products fix a binary table: a count of possibilities, and the condition under which solving succeeds.

**Count.** Up to row order there are C(2^d + m − 1, m) binary tables of m rows and d columns, about 2^(md)/m! of them.
Their α has d(d + 1)/2 entries, each spread like a count: for random tables of density p, the diagonal has variance
m p(1 − p) and the rest m p²(1 − p²). Where the entropy of α is less than that of the tables, most tables share their α
with others; where it is more, collisions are the exception. The two cross near d = 2m / (bits of an entry).

**Certificate.** The exact condition for a given table is checked by the attack: the columns and the column of ones
generate ℤᵐ (see ``attacks.gram.binary_table``). It needs rank m, so d + 1 ≥ m.
"""

from __future__ import annotations

from math import e, lgamma, log, log2, pi

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Theorem, at_most
from fedleak.theory.li2019.linear_update import LinearUpdate, n_columns

SAFE_EXCESS = 4  # random tables with d ≥ m + 4 are certified in nearly every draw


def table_bits(n_rows: int, n_cols: int, density: float = 0.5) -> float:
    """Entropy of a random binary table up to row order; log2 m! is what the order would have told."""
    cell = -density * log2(density) - (1 - density) * log2(1 - density)
    return max(n_rows * n_cols * cell - lgamma(n_rows + 1) / log(2), 0.0)


def gram_bits(n_rows: int, n_cols: int, density: float = 0.5) -> float:
    """Entropy of its inner products, entries taken as independent counts: an upper bound."""
    diagonal = _count_bits(n_rows, density)
    other = _count_bits(n_rows, density**2)
    return n_cols * diagonal + n_cols * (n_cols - 1) / 2 * other


def fewest_columns(n_rows: int, density: float = 0.5) -> int:
    """The least d at which α can tell all tables apart, by the count; below it, most tables have a double."""
    d = 1
    while gram_bits(n_rows, d, density) < table_bits(n_rows, d, density):
        d += 1
    return d


def largest_safe_batch(n_cols: int) -> int:
    """The most rows for which random tables are nearly always certified; only a batch well above it protects."""
    return n_cols - SAFE_EXCESS


def _count_bits(n: int, p: float) -> float:
    """Entropy of a binomial count: exact for few rows, the normal approximation beyond."""
    if n > 60:
        return 0.5 * log2(2 * pi * e * n * p * (1 - p))
    weights = [
        (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) + k * log(p) + (n - k) * log(1 - p) for k in range(n + 1)
    ]
    return -sum(2 ** (w / log(2)) * w / log(2) for w in weights)


class BinaryUniqueness(Theorem):
    name = "li2019/binary-uniqueness"
    summary = "binary records follow from the columns' inner products where columns outnumber the rows of a batch"
    reference = Reference("li2019", "section 3.2; certificate by fedleak")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        columns = n_columns(facts)
        return Assessment(
            cls.name,
            (
                *LinearUpdate.assess(facts).conditions,
                at_most(
                    f"the rows of an update and {SAFE_EXCESS} more are at most the columns",
                    None if facts.batch_size is None else facts.batch_size + SAFE_EXCESS,
                    columns,
                ),
            ),
            conclusion="binary columns of every record are determined, up to the order of the records",
            remedy=""
            if columns is None
            else f"batch_size above {columns} (no proof of safety: sums and label counts still leak)",
        )
