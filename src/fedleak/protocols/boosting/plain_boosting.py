"""Vertical gradient-boosted trees in plaintext, as XGBoost trains them (``data_split_mode=1`` without its plug-in).

The label holder gives every row's gradient to everybody; at each node every party says which of its splits is best,
with the column, the threshold and the gain; the owner of the best of all says which rows go left. An aggregator passes
all of it on, and so has all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import BoolArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Federation, Settings, setting, settings_of
from fedleak.core.whole.hooks import Hook
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink
from fedleak.models.boosting.booster import Booster, FinishedTree, Listing, assembled
from fedleak.models.boosting.growth import BestGain, Decision, Gradients, Rule, Sums, grow
from fedleak.models.boosting.plain_owner import PlainOwner
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosted_parties import booster_of, label_holder_first, with_objective
from fedleak.protocols.boosting.boosting_outcome import truth_of, usefulness
from fedleak.protocols.boosting.boosting_settings import OBJECTIVES, SecureBoostSettings
from fedleak.protocols.boosting.partner import ColumnOwner

SEEN = frozenset({Capability.SAMPLE_GRADIENTS, Capability.SPLIT_POINTS, Capability.NODE_ROUTING})
PUBLIC = ("depth", "bins", "min_bin_rows", "l2", "min_gain", "min_child_weight", "label_epsilon", "unit_box")


@dataclass(frozen=True)
class PlainBoostingSettings(Settings):
    """The defaults of numbers are XGBoost's, but for fewer trees and bins."""

    objective: str = setting("auto", "the loss; auto: by the labels", choices=OBJECTIVES)
    n_trees: int = setting(
        5, "rounds of boosting; of three classes or more each has a tree a class", unit="trees", tells_less="fewer"
    )
    depth: int = setting(6, "largest depth of a tree", unit="levels", tells_less="fewer")
    bins: int = setting(64, "quantile bins of a column, at most", unit="bins", tells_less="fewer")
    min_bin_rows: int = setting(1, "rows that every bin has at least", unit="rows", tells_less="more")
    learning_rate: float = setting(0.3, "what a tree's leaves count", tells_less="fewer")
    l2: float = setting(1.0, "weight of the squared leaf weights in the loss (lambda)")
    min_gain: float = setting(1e-6, "a split must gain more than this")
    min_child_weight: float = setting(1.0, "smallest sum of hessians in a child")
    label_epsilon: float = setting(
        0.0, "trees grow on labels under randomised response of this privacy, leaves fit the true ones; 0: off"
    )
    unit_box: bool = setting(False, "everybody knows that every column lies between 0 and 1 (minmax scaling)")

    def __post_init__(self) -> None:
        self.as_encrypted()  # which checks them

    def as_encrypted(self) -> SecureBoostSettings:
        """Those of the same trees over encrypted gradients."""
        return SecureBoostSettings(**vars(self), packed=False)


class PlainBoosting(Protocol):
    name = "plain-boosting"
    aliases = ("vertical-xgboost",)
    summary = "vertical gradient-boosted trees in plaintext: gradients, split points and routing for all (as XGBoost)"
    reference = Reference("fedleak", "docs/protocols/plain-boosting.md")
    settings_type = PlainBoostingSettings
    roles = frozenset({Role.ACTIVE, Role.PASSIVE, Role.SERVER})
    takes_missing = True
    named_steps = frozenset(boosting.VOCABULARY.steps)
    may_reveal = frozenset({Capability.OWN_FEATURES, Capability.LABELS, *SEEN})

    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        settings = settings_of(self.name, PlainBoostingSettings, federation.settings).as_encrypted()
        parties = label_holder_first(self.name, federation)
        actors = [Actor(party.name, party.role, hooks, sink, randomness) for party in parties]
        offsets = np.cumsum([0, *(len(party.columns) for party in parties)]).tolist()
        owners = [
            ColumnOwner(party, actor, settings, offset)
            for party, actor, offset in zip(parties, actors, offsets, strict=False)
        ]
        booster = booster_of(parties[0], settings, actors[0].rng)
        trees = _train(owners, booster, settings)
        model = assembled(trees, booster, tuple(name for party in parties for name in party.columns))
        for owner in owners:
            owner.keep_splits()
        captured = sink.finish(facts)
        useful = usefulness(parties, model)
        return Run(
            captured.transcript,
            captured.locals,
            truth_of(owners, settings),
            useful.figures,
            baselines=useful.baselines,
        )

    @classmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        own = settings_of(cls.name, PlainBoostingSettings, settings)
        told = boosting.BoostingFacts(
            objective=None if own.objective == "auto" else own.objective,
            n_rounds=own.n_trees,
            row_share=1.0,
            goss=False,
            **{name: getattr(own, name) for name in PUBLIC},
        )
        return Facts(cls.name, parties, n_rows, learning_rate=own.learning_rate, own=told)

    @classmethod
    def with_data(cls, facts: Facts, federation: Federation) -> Facts:
        settings = settings_of(cls.name, PlainBoostingSettings, federation.settings)
        return with_objective(facts, federation, settings.objective)

    @classmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        roles = {party.role for party in parties if party.name in coalition}
        found = set(SEEN)
        found |= {Capability.OWN_FEATURES} if roles & DATA_ROLES else set()
        found |= {Capability.LABELS} if Role.ACTIVE in roles else set()
        return frozenset(found)


def _train(owners: Sequence[ColumnOwner], booster: Booster, settings: SecureBoostSettings) -> list[FinishedTree]:
    owners[0].actor.publish(boosting.FIRST_SCORE, Scalar(booster.first_score))
    trees: list[FinishedTree] = []
    for _ in range(settings.n_trees):
        booster.start_round()
        for score in range(booster.scores.shape[1]):
            start_round([owner.actor for owner in owners], len(trees))
            trees.append(_one_tree(owners, booster, settings, len(trees), score))
    return trees


def _one_tree(
    owners: Sequence[ColumnOwner], booster: Booster, settings: SecureBoostSettings, number: int, score: int
) -> FinishedTree:
    holder = owners[0]
    holder.actor.publish(boosting.TREE, Tree({"score": Scalar(score), "alone": Scalar(False)}))
    gradients = booster.gradients(score, holder.actor.rng)
    unit = 2.0**gradients.fraction_bits
    told = {"rows": Array(holder.index.ids), "g": Array(gradients.g / unit), "h": Array(gradients.h / unit)}
    holder.actor.publish(boosting.SAMPLE_GRADIENTS, Tree(told))
    listings = tuple(owner.listing() for owner in owners)
    offering = [
        _OpenOwner(owner, own, gradients, settings.rule, number) for owner, own in zip(owners, listings, strict=True)
    ]
    grown = grow(offering, gradients, settings.rule, BestGain(), tell_leaves=False)
    booster.add(grown, score, settings.rule)
    return FinishedTree(grown, listings, score)


class _OpenOwner(PlainOwner):
    """One that says its best split of every node, and the way of the rows where that split wins."""

    def __init__(self, owner: ColumnOwner, own: Listing, gradients: Gradients, rule: Rule, tree: int) -> None:
        super().__init__(own.columns, own.candidates, gradients)
        self._owner, self._own, self._rule, self._tree = owner, own, rule, tree

    def sums(self, wanted: Sequence[int]) -> Mapping[int, Sums]:
        found = super().sums(wanted)
        best = {node: self._best(node, sums) for node, sums in found.items()}
        offered = {node: place for node, place in best.items() if place is not None}
        splits = [self._own.split(candidate) for candidate, _ in offered.values()]
        message = {
            "nodes": np.array(list(offered), dtype=np.int64),
            "columns": np.array([column - self._own.offset for column, _, _ in splits], dtype=np.int64),
            "thresholds": np.array([threshold for _, threshold, _ in splits], dtype=np.float64),
            "gains": np.array([gain for _, gain in offered.values()], dtype=np.float64),
        }
        payload = Tree({name: Array(values) for name, values in message.items()})
        self._owner.actor.publish(boosting.SPLIT_CANDIDATES, payload)
        return found

    def _best(self, node: int, sums: Sums) -> tuple[int, float] | None:
        """Of equal gains the first, as the choice among all parties has it."""
        rows = self._rows_of[node]
        total = self._gradients.sums(rows)
        gains = Decision(node, rows, (sums,), total, self._rule, self._gradients.fraction_bits).gains(0)
        if not len(gains) or not gains.max() > self._rule.min_gain:
            return None
        return int(gains.argmax()), float(gains.max())

    def route(self, chosen: Mapping[int, int]) -> Mapping[int, BoolArray]:
        masks = super().route(chosen)
        if not chosen:
            return masks
        rows = [self._rows_of[node] for node in chosen]
        for node, candidate in chosen.items():
            self._owner.keep_split(self._tree, node, self._own, candidate)
        nodes = np.repeat(list(chosen), [len(part) for part in rows]).astype(np.int64)
        told: dict[str, IntArray | BoolArray] = {
            "rows": self._owner.index.ids[np.concatenate(rows)],
            "nodes": nodes,
            "left": np.concatenate([masks[node] for node in chosen]),
        }
        payload = Tree({name: Array(values) for name, values in told.items()})
        self._owner.actor.publish(boosting.ROUTING, payload)
        return masks
