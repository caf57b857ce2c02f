"""Defenses of boosted trees: what a service shows and how often, who grows the first tree, how fine bins are, where
thresholds lie, how pure a node may become, and which labels trees are grown on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.payload import Table
from fedleak.core.steps import LABELS, Role
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, HookKind, LocalState
from fedleak.models.boosting.binning import quantile_thresholds
from fedleak.models.boosting.growth import Choice, Decision, best_choice
from fedleak.protocols.boosting import vocabulary as boosting

ID2GRAPH = Reference("takahashi2023", "arXiv 2307.10318")


@dataclass(frozen=True)
class ScoreOnly(Defense):
    """The label holder sees no hop of a prediction; it knows the leaves' weights, so that scores still tell a lot."""

    name = "score-only"
    summary = "shows the scores of a prediction and not the way of a row through the trees"
    reference = Reference("fedleak", "docs/defenses/score-only.md")
    changes = frozenset({"prediction"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(prediction="scores")


@dataclass(frozen=True)
class ServiceBudget(Defense):
    name = "service-budget"
    summary = "limits the queries, or the records in all, that a prediction service answers"
    reference = Reference("fedleak", "docs/defenses/service-budget.md")
    changes = frozenset({"query_budget", "record_budget"})

    queries: int = setting(0, "that are answered; 0 is without limit", unit="queries")
    records: int = setting(100, "that are answered in all; 0 is without limit", unit="records", tells_less="fewer")

    def __post_init__(self) -> None:
        if min(self.queries, self.records) < 0 or self.queries == self.records == 0:
            raise InputError(
                f"queries and records must be 0 or more, one of them above; got {self.queries}, {self.records}"
            )

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(query_budget=self.queries, record_budget=self.records)


@dataclass(frozen=True)
class FirstTreeAlone(Defense):
    """Gradients of the first round are the labels themselves, two values in all; later ones are less plain."""

    name = "first-tree-alone"
    aliases = ("rl-secureboost",)
    summary = "lets the label holder grow the first round's trees on its own columns"
    reference = Reference("li2021", "section 2.3; Cheng et al. 2021")
    changes = frozenset({"first_tree_alone"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(first_tree_alone=True)


@dataclass(frozen=True)
class CoarseBins(Defense):
    """A bin that is found out says less of a cell; it is found out all the same."""

    name = "coarse-bins"
    summary = "cuts columns into fewer bins, of many rows each"
    reference = Reference("fedleak", "docs/defenses/coarse-bins.md")
    changes = frozenset({"bins", "min_bin_rows"})

    bins: int = setting(8, "of a column, at most", unit="bins", tells_less="fewer")
    rows: int = setting(10, "that every bin has at least", unit="rows")

    def __post_init__(self) -> None:
        if self.bins < 2 or self.rows < 1:
            raise InputError(f"bins must be 2 or more and rows 1 or more; got {self.bins} and {self.rows}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(bins=self.bins, min_bin_rows=self.rows)


@dataclass(frozen=True)
class HiddenColumns(Defense):
    name = "hidden-columns"
    summary = "partners shuffle their candidates over all columns, and do not tell which is about what"
    reference = Reference("fedleak", "docs/defenses/hidden-columns.md")
    changes = frozenset({"reveal_feature"})

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(reveal_feature=False)


@dataclass(frozen=True)
class NoisyThresholds(Defense):
    """Who finds a threshold then learns a column's quantile less well; the order of rows within a column stays."""

    name = "noisy-thresholds"
    summary = "adds noise to the thresholds that passive parties cut their columns at"
    reference = Reference("fedleak", "docs/defenses/noisy-thresholds.md")
    acts_at = frozenset({boosting.BINS})

    sigma: float = setting(0.05, "standard deviation, in parts of the column's range", tells_less="more")

    def __post_init__(self) -> None:
        if not 0 < self.sigma < np.inf:
            raise InputError(f"sigma of noisy-thresholds must be above 0; got {self.sigma}")

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        n_bins = int(getattr(federation.settings, "bins", 32))
        least = int(getattr(federation.settings, "min_bin_rows", 1))

        def moved(features: FloatArray, _local: LocalState, rng: np.random.Generator) -> tuple[FloatArray, ...]:
            return tuple(self._moved(column, quantile_thresholds(column, n_bins, least), rng) for column in features.T)

        passive = federation.with_role(Role.PASSIVE)
        return tuple(Hook(boosting.BINS, HookKind.COMPUTE, party.name, moved) for party in passive)

    def _moved(self, column: FloatArray, thresholds: FloatArray, rng: np.random.Generator) -> FloatArray:
        present = column[~np.isnan(column)]
        if not len(present):
            return thresholds
        low, high = float(present.min()), float(present.max())
        noise = self.sigma * (high - low) * rng.standard_normal(len(thresholds))
        moved = np.clip(thresholds + noise, low, high)
        if len(present) < len(column):
            moved[-1] = high  # it splits present cells from missing ones
        return np.unique(moved)


@dataclass(frozen=True)
class PurityLimit(Defense):
    """After ID-LMID, which bounds what a node says about its rows' labels: a node that is purer is not split."""

    name = "purity-limit"
    aliases = ("id-lmid",)
    summary = "ends trees at nodes whose rows mostly share a label, and tells partners no leaves"
    reference = ID2GRAPH
    changes = frozenset({"tell_leaves"})
    acts_at = frozenset({boosting.CHOOSE})

    share: float = setting(
        0.9, "of a node's rows that may have its most frequent label and be split", unit="0 to 1", tells_less="fewer"
    )

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"share of purity-limit must be above 0 and at most 1; got {self.share}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(tell_leaves=False)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        def limited(decision: Decision, local: LocalState, _rng: np.random.Generator) -> Choice | None:
            labels = local.latest(LABELS)
            assert isinstance(labels, Table)
            return None if _purity(labels.values[decision.rows, 0]) > self.share else best_choice(decision)

        active = federation.with_role(Role.ACTIVE)
        return tuple(Hook(boosting.CHOOSE, HookKind.COMPUTE, party.name, limited) for party in active)


@dataclass(frozen=True)
class NoisyLabels(Defense):
    """Every member of every node is a function of randomised labels: each label has local privacy epsilon towards
    partners, over all trees together. Leaves are fitted to the true labels by their holder, who tells nobody."""

    name = "noisy-labels"
    aliases = ("grafting-ldp",)
    summary = "grows trees on randomised labels and fits their leaves to the true ones"
    reference = ID2GRAPH
    changes = frozenset({"label_epsilon"})

    epsilon: float = setting(1.0, "local privacy of a label; smaller is more private", tells_less="fewer")

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < np.inf:
            raise InputError(f"epsilon of noisy-labels must be above 0; got {self.epsilon}")

    def configure(self, federation: Federation) -> Federation:
        return federation.with_settings(label_epsilon=self.epsilon)


def _purity(labels: FloatArray | IntArray) -> float:
    return float(np.unique(labels, return_counts=True)[1].max(initial=0) / max(1, len(labels)))
