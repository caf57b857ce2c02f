"""Labels from who shares a leaf (the passive side; compare ID2Graph, Takahashi et al. 2023).

A partner is told which rows are in which node, so that it can sum their ciphertexts. Trees gather rows of one label:
rows that share small leaves in many trees are neighbours in a graph, and cutting that graph in two (or as many parts
as there are classes) gives the labels up to their names. The partner's own columns link what no tree links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.label_holder_sums import integers
from fedleak.attacks.row_clusters import k_means, spectral_classes
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.best_names import best_names
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.theory.boosted_trees import MembersOfNodes
from fedleak.theory.condition import State


def last_nodes(view: View, ids: IntArray) -> list[IntArray]:
    """For each tree the last node that each row was told to be in; -1 where it was in none."""
    place = {int(row): number for number, row in enumerate(ids)}
    found: dict[int, IntArray] = {}
    for message in view.at(boosting.NODE_ROWS, view.coalition[0]):
        nodes = found.setdefault(message.round, np.full(len(ids), -1, dtype=np.int64))
        rows = np.array([place[int(row)] for row in integers(message.payload, "rows")], dtype=np.int64)
        nodes[rows] = integers(message.payload, "nodes")
    return list(found.values())


def indicators(groupings: list[IntArray]) -> FloatArray:
    """(rows, groups): in which group of each grouping a row is, small groups weighing more (one over root size)."""
    columns = [grouping == group for grouping in groupings for group in np.unique(grouping[grouping >= 0])]
    found = np.array(columns, dtype=np.float64).reshape(len(columns), -1).T
    return np.asarray(found / np.sqrt(np.maximum(found.sum(axis=0), 1.0)))


def own_classes(features: FloatArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    """What the partner's own columns say without any tree: k-means on standardised columns."""
    filled = np.where(np.isnan(features), np.nanmean(features, axis=0), features)
    scale = filled.std(axis=0)
    return k_means((filled - filled.mean(axis=0)) / np.where(scale > 0, scale, 1.0), n_classes, rng)[0]


@dataclass(frozen=True)
class MemberClustering(Attack):
    name = "member-clustering"
    aliases = ("id2graph",)
    summary = "clusters rows by the leaves that they share, which is by their labels, up to the classes' names"
    reference = Reference("fedleak", "docs/attacks/member-clustering.md")
    requires = frozenset({Capability.NODE_ROWS, Capability.OWN_FEATURES})
    produces = SecretKind.LABELS
    up_to = frozenset({Symmetry.CLASS_NAMES})
    measured_by = "label-accuracy"
    preloads = ("scipy.optimize",)

    own_weight: float = 0.3  # of the own columns' clusters beside a tree

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        own = view.table(FEATURES, view.coalition[0])
        ids, features = np.asarray(own.ids, dtype=np.int64), np.asarray(own.values, dtype=np.float64)
        trees = last_nodes(view, ids)
        n_classes = view.facts.of(boosting.BoostingFacts).n_classes
        if not trees or n_classes is None:
            raise MissingFromViewError("members of nodes and the number of classes must be known")
        alone = own_classes(features, n_classes, rng)
        links = np.concatenate([indicators(trees), self.own_weight * indicators([alone])], axis=1)
        classes, confidence = spectral_classes(links, n_classes, rng)
        evidence = {"trees": len(trees), "rows that own columns alone put elsewhere": _moved(classes, alone)}
        why = f"rows that share leaves in {len(trees)} trees fall into {n_classes} parts"
        return Guess(
            view.target,
            Status.PARTIAL,
            ids,
            classes[:, None].astype(np.float64),
            confidence=confidence[:, None],
            evidence=evidence,
            why=why,
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = MembersOfNodes.assess(facts)
        if assessment.state is not State.HOLDS:
            # Labels that are numbers share nodes too; that nothing follows takes that no rows of nodes are told.
            lacking = facts.capabilities is not None and not cls.requires <= facts.capabilities
            return from_assessment(assessment, if_fails=Verdict.IMPOSSIBLE if lacking else Verdict.UNKNOWN)
        return Prediction(Verdict.PARTIAL, (assessment.conclusion,))


def _moved(classes: IntArray, alone: IntArray) -> float:
    """Share of rows that change their part, under the best naming of the parts."""
    return 1.0 - best_names(classes, alone)[1] / len(classes)
