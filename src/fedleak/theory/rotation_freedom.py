"""Two or more columns are hidden up to a rotation: how many numbers that leaves open, and which known cells fix it.

Theorem 3.6 of Hu et al. 2022: scores do not tell a table from a rotated one. Lemmas 1 to 5, theorems 1 and 2 of Li et
al. 2021 count what the inner products leave open: A A^T = C has a solution, as C comes from one (lemma 1); lemmas 2 and
3 (at most, at least) give theorem 1, lemmas 4 and 5 theorem 2. What they count are dimensions. The paper goes on to
call the answer inverted once so many cells are known; what is left then is a finite set that as a rule has more than
one member. The known data ratio (section 6.2) and the patterns of corollary 1 say which cells.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, several_outside_columns


class RotationHardness(Theorem):
    """Rotating the victim's rows and weights together changes no score, so no score tells them apart.

    What a rotation leaves alone is not protected: scores, and inner products of rows (their Gram matrix).
    """

    name = "hu2022/theorem-3.6"
    summary = "with two or more columns outside, the scores determine them only up to a rotation"
    reference = Reference("hu2022", "theorem 3.6")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (several_outside_columns(facts), _start_unknown(facts)),
            conclusion="infinitely many tables fit the scores: single values are not identifiable without further "
            "knowledge, while scores and inner products of rows are not protected",
        )


def _start_unknown(facts: Facts) -> Condition:
    """From zero weights the start is known; a rotation fixes zero, so the argument goes through unchanged."""
    statement = "the victim's first weights are unknown, or zero, which every rotation keeps"
    if facts.initialisation is None:
        return Condition(statement, State.UNKNOWN, "the initialisation is not known")
    return Condition(statement, State.HOLDS, f"initialisation {facts.initialisation}")


def degrees_of_freedom(n_features: int, *, with_weights: bool) -> int:
    """n(n-1)/2, the dimension of the rotations (theorem 1); (n-1)(n-2)/2 once A W = Z fixes a direction (theorem 2)."""
    n = n_features - 1 if with_weights else n_features
    return max(n * (n - 1) // 2, 0)


def most_solutions(n_features: int, *, with_weights: bool) -> int:
    """With exactly that many known cells in a staircase: two roots for every row but those that W replaces.

    Rows 1 ... n - 1 of lemma 2 each end in a norm equation, and so does the last direction's sign; W spares one row.
    """
    return int(2 ** max(n_features - 1 if with_weights else n_features, 0))


class QuadraticFreedom(Theorem):
    name = "li2021/theorem-1"
    aliases = ("li2021/lemma-1", "li2021/lemma-2", "li2021/lemma-3")
    summary = "inner products leave n(n-1)/2 degrees of freedom of the victim's table"
    reference = Reference("li2021", "theorem 1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return _count_freedom(cls.name, facts, with_weights=False)


class LinearFreedom(Theorem):
    name = "li2021/theorem-2"
    aliases = ("li2021/lemma-4", "li2021/lemma-5")
    summary = "inner products and the stolen weights leave (n-1)(n-2)/2 degrees of freedom"
    reference = Reference("li2021", "theorem 2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return _count_freedom(cls.name, facts, with_weights=True)


def _count_freedom(name: str, facts: Facts, *, with_weights: bool) -> Assessment:
    widths = [party.n_features for party in facts.parties if party.name not in facts.adversary and party.n_features]
    if len(widths) != 1 or facts.n_rows is None:
        missing = Condition("the victim's rows and columns are known", State.UNKNOWN, "not one victim, or no count")
        return Assessment(name, (missing,), conclusion="the freedom cannot be counted")
    width, needed = widths[0], widths[0] - (2 if with_weights else 1)
    state = State.HOLDS if facts.n_rows >= needed else State.FAILS
    rows = Condition("there are n - 1 independent rows (W counts as one)", state, f"{facts.n_rows} rows, n = {width}")
    free = degrees_of_freedom(width, with_weights=with_weights)
    return Assessment(
        name,
        (rows,),
        conclusion=f"{free} known cells leave at most {most_solutions(width, with_weights=with_weights)} tables, "
        "of which one is the victim's",
    )


def vertical_kdr(n_features: int, n_rows: int) -> float:
    """KDR_v = (n-1)(n-2) / (2 m n): the cells that theorem 2 asks for, as a share of the victim's table."""
    return degrees_of_freedom(n_features, with_weights=True) / (n_rows * n_features)


def horizontal_kdr(n_features: int, n_rows: int) -> float:
    """KDR_h = (m-1) / (2n) for m <= n, and (2m-n-1) / (2m) for m > n, which is half the table or more."""
    if n_rows <= n_features:
        return (n_rows - 1) / (2 * n_features)
    return (2 * n_rows - n_features - 1) / (2 * n_rows)


def staircase(n_features: int, *, with_weights: bool, extra: int = 0) -> tuple[int, ...]:
    """How many cells of each successive row are known: the construction of lemma 2 (lemma 4 with the weights).

    ``extra`` more in every row make each row a linear solve, and the answer unique: the paper's count does not.
    """
    first = n_features - (2 if with_weights else 1)
    n_rows = n_features - 1 if with_weights else n_features
    return tuple(min(max(first - row, 0) + extra, n_features) for row in range(max(n_rows, 1)))


def staircase_order(known: BoolArray, *, with_weights: bool) -> tuple[int, ...] | None:
    """An order of rows in which a pattern (rows, columns) is a staircase, or None: condition 1 of corollary 1.

    Columns may be anywhere in a row, and rows in any order: the three cases of figure 5 all pass.
    """
    wanted = staircase(known.shape[1], with_weights=with_weights)
    by_count = sorted(range(len(known)), key=lambda row: -int(known[row].sum()))[: len(wanted)]
    if len(by_count) < len(wanted):
        return None
    enough = all(int(known[row].sum()) >= need for row, need in zip(by_count, wanted, strict=True))
    return tuple(by_count) if enough else None


def pattern_condition(rows: FloatArray, known: BoolArray, weights: FloatArray | None = None) -> float:
    """Condition number of the known-cell equations at a table: infinite where they leave a rotation free.

    How much an error in the inner products or in a cell grows in the answer. Minimal patterns reach 1e10 at n = 35.
    """
    width = rows.shape[1]
    if known.shape != rows.shape:
        raise InputError(f"a pattern must have the shape of the table, {rows.shape}; got {known.shape}")
    where, columns = np.nonzero(known)
    equations = [rotation_equations(rows[where], columns, width)]
    if weights is not None:
        first, second = np.triu_indices(width, k=1)
        equations.append(rows[:, first] * weights[second] - rows[:, second] * weights[first])
    singular = np.linalg.svd(np.vstack(equations), compute_uv=False)
    n_unknown = width * (width - 1) // 2
    if len(singular) < n_unknown or singular[n_unknown - 1] <= 1e-14 * singular[0]:
        return float("inf")
    return float(singular[0] / singular[n_unknown - 1])


def rotation_equations(vectors: FloatArray, columns: np.ndarray, width: int) -> FloatArray:
    """d(a exp S)[j] = sum_p a[p] S[p, j] for rows a and columns j; unknowns: S[p, q] with p < q, S[q, p] = -S[p, q]."""
    first, second = np.triu_indices(width, k=1)
    lower = (columns[:, None] == second[None, :]) * vectors[:, first]
    upper = (columns[:, None] == first[None, :]) * vectors[:, second]
    return np.asarray(lower - upper)
