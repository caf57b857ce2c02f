"""What boosted trees over several owners of columns give away, and what it costs to ask for it.

Sums: a column's bins are unknowns of 0 and 1 in linear equations with known whole numbers. Rows that are in the same
nodes with the same g and h have equal columns of that system, and no sum tells them apart.
Questions: R records cut the range of a feature into R + 1 parts, so that a batch tells at most which of
C(R + k, k) ways k thresholds lie among them, where C(N, k) had to be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, lgamma, log

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.protocols.boosting.vocabulary import BoostingFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, no_noise, revealed

ROUNDING = 1e-9


def printed_batches(n_nodes: int, steps: float, n_records: int) -> int:
    """N_Q = n_v ceil(log_{m-1}((UB - LB) / epsilon)), Li et al. 2021, section 5.2; ``steps`` is range over epsilon."""
    if n_records < 3:
        raise ValueError(f"n_records must be 3 or more: two records divide no interval; got {n_records}")
    return n_nodes * max(1, ceil(log(steps) / log(n_records - 1) - ROUNDING))


def least_batches(steps: float, n_records: int, thresholds: Iterable[int]) -> int:
    """No way of asking needs fewer: the largest of ceil(ln C(N, k) / ln C(R + k, k)) over the features.

    ``thresholds`` is the number of different thresholds of each feature.
    """
    needed = [_log_choices(steps, k) / _log_choices(n_records + k, k) for k in thresholds if 0 < k < steps]
    return max((ceil(ratio - ROUNDING) for ratio in needed), default=0)


def _log_choices(n: float, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


class SumsOfBins(Theorem):
    """Where it holds, all that is left of a cell's secret is who shares its g, h and nodes in every tree."""

    name = "fedleak/sums-of-bins"
    summary = "sums of known gradients by bin place every row that differs from all others in g, h or a node"
    reference = Reference("fedleak", "docs/theory/boosted-trees.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                revealed(Capability.LABELS, facts),
                revealed(Capability.CANDIDATE_SUMS, facts),
                no_noise(facts),
                _columns_told(facts),
                _whole_rows(facts),
            ),
            conclusion="every row that no other equals in g, h and nodes is placed in its bin, in every column",
        )


class ThresholdQuestions(Theorem):
    """Algorithm 1 needs N_Q batches; asking about many nodes at once needs a few more than ``least_batches``."""

    name = "li2021/section-5.2"
    aliases = ("li2021/algorithm-1",)
    summary = "made-up records, routed hop by hop, bracket every partner's threshold as narrowly as one likes"
    reference = Reference("li2021", "section 5.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (revealed(Capability.ENROLLED_RECORDS, facts), _routed(facts), _unbounded(facts)),
            conclusion="every threshold is found to any precision",
        )


class MembersOfNodes(Theorem):
    """Leaves gather rows of one label; how well depends on the data, so that it never says exact."""

    name = "fedleak/members-of-nodes"
    summary = "which rows share nodes tells which share labels, up to the names of the classes"
    reference = Reference("fedleak", "docs/theory/boosted-trees.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        statement = "labels are classes"
        objective = facts.of(BoostingFacts).objective
        state = State.UNKNOWN if objective is None else State.FAILS if objective == "squared" else State.HOLDS
        classes = Condition(statement, state, objective or "the objective is not known")
        return Assessment(
            cls.name,
            (revealed(Capability.NODE_ROWS, facts), classes, _grown_on_labels(facts)),
            conclusion="rows that share many nodes share their label, mostly",
        )


class OpenGradients(Theorem):
    """p - y has the sign that the label says, and f - y gives y where f is the same known number for all rows."""

    name = "fedleak/open-gradients"
    summary = "every row's gradient in plaintext is its label, whatever the model learns"
    reference = Reference("fedleak", "docs/theory/boosted-trees.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        objective = facts.of(BoostingFacts).objective
        known = Condition(
            "the loss is known",
            State.UNKNOWN if objective is None else State.HOLDS,
            objective or "the objective is not known",
        )
        return Assessment(
            cls.name,
            (revealed(Capability.SAMPLE_GRADIENTS, facts), known, _grown_on_labels(facts)),
            conclusion="every label is read off the first tree's gradients",
        )


class OpenSplits(Theorem):
    """What is told needs no search."""

    name = "fedleak/open-splits"
    summary = "split points that are told in plaintext are known, and every row's way bounds its cells by them"
    reference = Reference("fedleak", "docs/theory/boosted-trees.md")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (revealed(Capability.SPLIT_POINTS, facts), revealed(Capability.NODE_ROUTING, facts)),
            conclusion="every partner's threshold is told",
        )


def _grown_on_labels(facts: Facts) -> Condition:
    statement = "trees are grown on the labels themselves"
    epsilon = facts.of(BoostingFacts).label_epsilon
    if epsilon is None:
        return Condition(statement, State.UNKNOWN, "label_epsilon is not known")
    if epsilon:
        return Condition(statement, State.UNKNOWN, f"on labels under randomised response, epsilon {epsilon:g}")
    return Condition(statement, State.HOLDS, "no noise on labels")


def _columns_told(facts: Facts) -> Condition:
    statement = "which column a candidate is about is told"
    told = facts.of(BoostingFacts).reveal_feature
    if told is None:
        return Condition(statement, State.UNKNOWN, "reveal_feature is not known")
    if told:
        return Condition(statement, State.HOLDS, "reveal_feature = true")
    return Condition(statement, State.UNKNOWN, "reveal_feature = false: what sums of mixed columns tell is not known")


def _whole_rows(facts: Facts) -> Condition:
    """Rows that no tree counts have no weight in any sum."""
    own = facts.of(BoostingFacts)
    statement = "every row counts in every tree"
    if own.row_share is None or own.goss is None:
        return Condition(statement, State.UNKNOWN, "how rows are sampled is not known")
    holds = own.row_share >= 1 and not own.goss
    return Condition(statement, State.HOLDS if holds else State.UNKNOWN, "all rows" if holds else "rows are sampled")


def _routed(facts: Facts) -> Condition:
    statement = "the service shows hops"
    shown = facts.of(BoostingFacts).prediction
    if shown is None:
        return Condition(statement, State.UNKNOWN, "what a prediction shows is not known")
    if shown == "routing":
        return Condition(statement, State.HOLDS, "it shows every hop")
    return Condition(statement, State.UNKNOWN, "it shows scores; with few trees a score names its leaves")


def _unbounded(facts: Facts) -> Condition:
    statement = "the service answers as often as asked"
    own = facts.of(BoostingFacts)
    limits = [
        f"{limit} {what}" for limit, what in ((own.query_budget, "queries"), (own.record_budget, "records")) if limit
    ]
    if limits:
        return Condition(statement, State.UNKNOWN, f"at most {' and '.join(limits)}")
    return Condition(statement, State.HOLDS, "no budget")
