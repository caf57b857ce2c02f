"""Section 4.2: what the averages of whole models give away."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, revealed


class HorizontalInversion(Theorem):
    """The degrees of freedom are m(m-1)/2 with the roles of rows and columns exchanged; the paper's other condition,
    that the averages determine X^T X, fails for full-batch training by everybody: the models then follow a Krylov
    sequence.
    """

    name = "li2021/section-4.2"
    summary = "averages without the own part give the victim's X^T X, and known cells its rows"
    reference = Reference("li2021", "section 4.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        widths = [party.n_features for party in facts.parties if party.role is Role.ACTIVE and party.n_features]
        rounds = facts.options.get("rounds")
        n_rounds = int(rounds) if isinstance(rounds, int) else None
        # n (n + 1) / 2 + n unknowns, n equations a round
        needed = None if not widths else (widths[0] + 1) // 2 + 2
        return Assessment(
            cls.name,
            (
                revealed(Capability.AVERAGED_WEIGHTS, facts),
                revealed(Capability.KNOWN_CELLS, facts),
                _victim_alone(facts),
                at_most("there are enough rounds to solve for X^T X", needed, n_rounds),
                _excited(facts),
            ),
            conclusion="the victim's rows, if the known cells are enough",
            remedy="three or more parties outside any coalition, under secure aggregation",
        )


def _victim_alone(facts: Facts) -> Condition:
    statement = "the coalition can take everything but the victim's part out of the average"
    outside = [p.name for p in facts.parties if p.role is Role.ACTIVE and p.name not in facts.adversary]
    if len(outside) <= 1:
        return Condition(statement, State.HOLDS, f"outside: {', '.join(outside)}")
    server = any(p.role is Role.SERVER and p.name in facts.adversary for p in facts.parties)
    plain = facts.options.get("secure_aggregation") is False
    state = State.HOLDS if server and plain else State.FAILS
    return Condition(
        statement, state, f"outside: {', '.join(outside)}; the server sees single models: {server and plain}"
    )


def _excited(facts: Facts) -> Condition:
    statement = "somebody in the coalition draws a new mini-batch in every round"
    shuffled = facts.options.get("shuffled")
    if not isinstance(shuffled, str):
        return Condition(statement, State.UNKNOWN, "not known")
    mine = [name for name in shuffled.split(",") if name in facts.adversary]
    detail = ", ".join(mine) or "nobody: the models turn collinear, and rounding decides"
    return Condition(statement, State.HOLDS if mine else State.UNKNOWN, detail)
