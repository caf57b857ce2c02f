"""Lemmas 1 to 5, theorems 1 and 2: how many numbers the inner products leave open.

Lemma 1: A A^T = C has a solution (C comes from one). Lemmas 2 and 3 (at most, at least) give theorem 1, lemmas 4 and 5
theorem 2. What the theorems count are dimensions. The paper goes on to call the answer inverted once so many cells are
known; what is left then is a finite set that as a rule has more than one member.
"""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem


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
        return _assess(cls.name, facts, with_weights=False)


class LinearFreedom(Theorem):
    name = "li2021/theorem-2"
    aliases = ("li2021/lemma-4", "li2021/lemma-5")
    summary = "inner products and the stolen weights leave (n-1)(n-2)/2 degrees of freedom"
    reference = Reference("li2021", "theorem 2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return _assess(cls.name, facts, with_weights=True)


def _assess(name: str, facts: Facts, *, with_weights: bool) -> Assessment:
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
