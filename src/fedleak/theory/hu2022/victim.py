"""Conditions on the party that is attacked, and on batches, that several theorems share."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log

from fedleak.core.capability import Capability
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.theory.condition import Condition, State
from fedleak.theory.hu2022.label_by_sign import LabelBySign

DATA_ROLES = (Role.ACTIVE, Role.PASSIVE)


def outside_with_columns(facts: Facts) -> tuple[PartyFacts, ...]:
    """Data parties outside the coalition that hold a column, or may hold one."""
    return tuple(
        p for p in facts.parties if p.name not in facts.adversary and p.role in DATA_ROLES and p.n_features != 0
    )


def n_outside_features(facts: Facts) -> int | None:
    """Columns outside the coalition; None where a count is missing."""
    counts = [party.n_features for party in outside_with_columns(facts)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def one_outside_column(facts: Facts) -> Condition:
    """d_B = 1."""
    return _outside_columns(facts, "one single column lies outside the coalition", lambda count: count == 1)


def several_outside_columns(facts: Facts) -> Condition:
    """d_B >= 2."""
    return _outside_columns(facts, "two or more columns lie outside the coalition", lambda count: count >= 2)


def _outside_columns(facts: Facts, statement: str, wanted: Callable[[int], bool]) -> Condition:
    count = n_outside_features(facts)
    if count is None:
        return Condition(statement, State.UNKNOWN, "a party's number of columns is not known")
    return Condition(statement, State.HOLDS if wanted(count) else State.FAILS, f"{count} columns")


def labels_known(facts: Facts) -> Condition:
    """The label party has them; another party may have found them first (remark 4.9)."""
    statement = "the adversary has the labels, its own or recovered by their sign (remark 4.9)"
    if facts.capabilities is None:
        return Condition(statement, State.UNKNOWN, "what the protocol reveals is not known")
    if Capability.LABELS in facts.capabilities:
        return Condition(statement, State.HOLDS, "the adversary is the label party, or colludes with it")
    by_sign = LabelBySign.assess(facts).state
    state = State.HOLDS if by_sign is State.HOLDS else State.UNKNOWN
    return Condition(statement, state, f"{LabelBySign.name} {by_sign.value}")


def batches_per_epoch(facts: Facts) -> int | None:
    """m = n / s, rounded up."""
    if facts.n_rows is None or facts.batch_size is None:
        return None
    return -(-facts.n_rows // facts.batch_size)


def regrouping_bound(n_batches: int, batch_size: int, *, epochs: int) -> float:
    """Upper bound on the probability that some sortable set of batches is regrouped into itself (lemma 3.4).

    Eq. 78 gives 1 / C(ms, s) for each of the at most m sets alive at the start of an epoch, halved in
    each following one: the sum is at most 2 m / C(ms, s), which is tighter than the paper's 2 / m^(s - 1).
    """
    if n_batches <= 1:
        return 0.0
    alive = sum(max(n_batches * 0.5**epoch, 2.0) for epoch in range(max(epochs - 1, 1)))
    n_rows = n_batches * batch_size
    log_choices = lgamma(n_rows + 1) - lgamma(batch_size + 1) - lgamma(n_rows - batch_size + 1)
    return min(1.0, exp(log(alive) - log_choices))
