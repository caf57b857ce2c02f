"""A partner's split points through a prediction service for made-up records (Li et al. 2021, section 5.2).

The record of the paper's algorithm has the victim's features in it: the adversary must be able to enrol records at the
victim, which is a capability of its own. Both searches end with a bracket for each node, whose two ends the service
itself has answered for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from fedleak.attacks.boosting.score_jumps import Jumped, jump_search
from fedleak.attacks.boosting.service_questions import Questions, questions, record_oracle
from fedleak.attacks.boosting.threshold_rounds import Asked, box_search, printed_search
from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.oracle import Oracle
from fedleak.core.view import View
from fedleak.protocols.boosting.vocabulary import BoostingFacts
from fedleak.theory.boosted_trees import ThresholdQuestions

ANSWERED = "the service answered for both ends of each bracket, or it ends with the declared range"


@dataclass(frozen=True)
class ThresholdSearch(Attack):
    name = "threshold-search"
    summary = "finds a partner's split points by batches of made-up records that ask about many nodes at once"
    reference = Reference("fedleak", "docs/attacks/threshold-search.md")
    requires = frozenset({Capability.ENROLLED_RECORDS})
    produces = SecretKind.THRESHOLDS

    epsilon: float = 1e-4  # of the widest range of a column
    n_records: int = 401  # in a batch
    follows_jumps: ClassVar[bool] = True  # of scores that are sums of too many trees to name their leaves

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        known, oracle = questions(view), record_oracle(view)
        if self.follows_jumps and not known.names_leaves(oracle):
            return self._by_jumps(view, known, oracle, rng)
        return answer(view, known, self.search(known, oracle, rng), self._width(known))

    def _by_jumps(self, view: View, known: Questions, oracle: Oracle, rng: np.random.Generator) -> Guess:
        jumped = jump_search(
            known.shapes,
            known.weight,
            known.score_of_tree,
            known.ranges,
            known.partners_columns,
            partial(known.scores_asked, oracle),
            epsilon=self._width(known),
            n_records=_batch_size(self.n_records, oracle),
            rng=rng,
        )
        return named_by_jumps(view, known, jumped)

    def search(self, known: Questions, oracle: Oracle, rng: np.random.Generator) -> Asked:
        return box_search(
            known.shapes,
            known.ranges,
            known.partners_columns,
            partial(known.asked, oracle),
            epsilon=self._width(known),
            n_records=_batch_size(self.n_records, oracle),
            rng=rng,
        )

    def _width(self, known: Questions) -> float:
        return self.epsilon * float(np.ptp(known.ranges[known.partners_columns], axis=1).max())

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(ThresholdQuestions.assess(facts))


class PrintedThresholdSearch(ThresholdSearch):
    name = "threshold-search-printed"
    aliases = ("secureboost-attack",)
    summary = "finds a partner's split points node by node, as algorithm 1 of the paper is printed"
    reference = Reference("li2021", "section 5.2, algorithm 1")
    follows_jumps = False

    def search(self, known: Questions, oracle: Oracle, rng: np.random.Generator) -> Asked:
        return printed_search(
            known.shapes,
            known.ranges,
            known.partners_columns,
            partial(known.asked, oracle),
            epsilon=self._width(known),
            n_records=_batch_size(self.n_records, oracle),
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        found = super().predict(facts)
        if found.verdict is not Verdict.EXACT or facts.of(BoostingFacts).reveal_feature:
            return found
        return Prediction(Verdict.UNKNOWN, ("a node whose column is hidden is beyond the algorithm as it is printed",))


def _batch_size(wanted: int, oracle: Oracle) -> int:
    """A budget of records is spread over some batches, so that later ones can use what earlier ones say."""
    most = oracle.spec.record_budget
    return wanted if most is None else max(3, min(wanted, most // 6))


def answer(view: View, known: Questions, asked: Asked, epsilon: float) -> Guess:
    nodes = known.nodes_of(view.target.owner)
    if not len(nodes):
        return nothing(view, "no split is the partner's", {}, width=1, status=Status.UNDETERMINED)
    brackets = np.array([_bracket(asked, int(known.shapes.unknown[node])) for node in nodes]).reshape(-1, 2)
    widths = np.where(np.isnan(brackets[:, 0]), np.inf, np.ptp(brackets, axis=1))
    found = widths <= epsilon
    evidence = {
        "batches": asked.n_batches,
        "records": asked.n_records,
        "nodes": len(nodes),
        "coverage": float(found.mean()),
        "widest bracket": float(widths.max()) if np.isfinite(widths).all() else None,
        "budget spent": asked.spent,
    }
    why = f"{int(found.sum())} of {len(nodes)} split points to {epsilon:.1e} by {asked.n_batches} batches of records"
    told = np.isfinite(brackets).all(axis=1)
    return Guess(
        view.target,
        Status.RECOVERED if found.all() else Status.PARTIAL if told.any() else Status.UNDETERMINED,
        known.ids_of(known.shapes.unknown[nodes]),
        brackets.mean(axis=1, keepdims=True),
        intervals=brackets[:, None, :],
        evidence={name: value for name, value in evidence.items() if value is not None},
        why=why if not asked.spent else f"{why}; then the service's budget was spent",
        # Of a bracket that is still wide the middle is told, and nothing proves that.
        certificate=ANSWERED if told.any() and found[told].all() else "",
    )


def named_by_jumps(view: View, known: Questions, jumped: Jumped) -> Guess:
    """Brackets of the nodes whose jumps have one explanation; of others the range of their column, if it is told."""
    nodes = known.shapes.unknown[known.nodes_of(view.target.owner)]
    if not len(nodes):
        return nothing(view, "no split is the partner's", {}, width=1, status=Status.UNDETERMINED)
    named = np.array([node in jumped.brackets for node in nodes.tolist()])
    ranges = np.concatenate([known.ranges, [[np.nan, np.nan]]])  # the last one is of a hidden column
    ends = [
        jumped.brackets[node][1:] if node in jumped.brackets else ranges[known.shapes.feature[node]]
        for node in nodes.tolist()
    ]
    brackets = np.array(ends, dtype=np.float64).reshape(-1, 2)
    evidence = {
        "batches": jumped.n_batches,
        "records": jumped.n_records,
        "nodes": len(nodes),
        "named by jumps": float(named.mean()),
        "jumps": jumped.n_jumps,
        "budget spent": jumped.spent,
    }
    why = f"{int(named.sum())} of {len(nodes)} split points are where scores jump as only they explain"
    status = Status.PARTIAL if np.isfinite(brackets).any() else Status.UNDETERMINED
    values = np.where(named, brackets.mean(axis=1), np.nan)[:, None]
    return Guess(
        view.target, status, known.ids_of(nodes), values, intervals=brackets[:, None, :], evidence=evidence, why=why
    )


def _bracket(asked: Asked, node: int) -> tuple[float, float]:
    if asked.brackets.feature_of(node) < 0:
        return np.nan, np.nan
    return asked.brackets.told(node)
