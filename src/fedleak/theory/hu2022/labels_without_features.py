"""Theorem 4.1: a label party without columns gives its labels away, at the price of a subset-sum problem."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.theory.condition import Assessment, Condition, State, Theorem, no_noise, revealed


class LabelsWithoutFeatures(Theorem):
    """sum_i y_i x_i is known, and for rows in general position one choice of signs gives it.

    No bound on the batch size is needed for uniqueness; finding the signs takes exponential time in the rows
    beyond the adversary's columns. Rows that repeat, or whole-number columns, break the general position.
    """

    name = "hu2022/theorem-4.1"
    summary = "a label party that holds no columns leaves its labels determined, for any batch size"
    reference = Reference("hu2022", "theorem 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                _nothing_outside(facts),
                revealed(Capability.OWN_GRADIENT, facts),
                no_noise(facts),
                _known_residual(facts),
            ),
            conclusion="every batch determines its labels; finding them is as hard as a subset-sum problem",
            remedy="let the label party contribute columns",
        )


def _nothing_outside(facts: Facts) -> Condition:
    """d_A = 0: the adversary holds every column, so it knows every score."""
    statement = "every column is the adversary's: the label party holds none"
    outside = [p for p in facts.parties if p.name not in facts.adversary and p.role in (Role.ACTIVE, Role.PASSIVE)]
    if any(party.n_features is None for party in outside):
        return Condition(statement, State.UNKNOWN, "a party's number of columns is not known")
    n_outside = sum(party.n_features or 0 for party in outside)
    return Condition(statement, State.HOLDS if n_outside == 0 else State.FAILS, f"{n_outside} columns outside")


def _known_residual(facts: Facts) -> Condition:
    """Appendices E.2 and F.2 carry the theorem over: with known scores the label's part is -y / 2 in all of them."""
    statement = "the approximation of the sigmoid is known"
    state = State.UNKNOWN if facts.approximation is None else State.HOLDS
    return Condition(statement, state, facts.approximation or "not known")
