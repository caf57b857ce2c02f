"""What the holder of the labels does between trees: scores, gradients in fixed point, which rows and columns a tree
sees. And the same training with all columns in one place, which the federated one must equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from fedleak.crypto.fixed_point import encode
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting.binning import BinnedColumns, Candidates, quantile_thresholds
from fedleak.models.boosting.growth import LEAF, BestGain, Gradients, GrownTree, Rule, grow, leaf_weight
from fedleak.models.boosting.losses import Objective, derivatives, first_score, n_scores, randomised
from fedleak.models.boosting.plain_owner import PlainOwner


@dataclass(frozen=True)
class Sampling:
    """``goss``: the ``goss_top`` share of rows with the largest gradients, and ``goss_other`` of all rows from the
    rest, whose gradients count more in return (Ke et al. 2017)."""

    row_share: float = 1.0
    column_share: float = 1.0
    goss: bool = False
    goss_top: float = 0.2
    goss_other: float = 0.1

    @property
    def largest_factor(self) -> float:
        return max(1.0, (1.0 - self.goss_top) / self.goss_other) if self.goss else 1.0

    def factors(self, g: FloatArray, rng: np.random.Generator) -> FloatArray:
        """What each row counts in a tree; 0 is not at all."""
        if self.goss:
            return self._goss(np.abs(g), rng)
        if self.row_share >= 1:
            return np.ones(len(g))
        taken = rng.permutation(len(g))[: max(1, round(self.row_share * len(g)))]
        return np.isin(np.arange(len(g)), taken).astype(np.float64)

    def _goss(self, size: FloatArray, rng: np.random.Generator) -> FloatArray:
        order = np.argsort(-size, kind="stable")
        n_top = max(1, round(self.goss_top * len(size)))
        rest = order[n_top:]
        found = np.zeros(len(size))
        found[order[:n_top]] = 1.0
        found[rng.permutation(rest)[: round(self.goss_other * len(size))]] = (1.0 - self.goss_top) / self.goss_other
        return found


class Booster:
    """The labels' side of a training: scores of all rows, and what the next tree has to reduce.

    With ``shown`` labels trees are grown on those alone, and their leaves are fitted to the true ones apart (after
    Grafting-LDP, Takahashi et al. 2023): nothing that a partner is told depends on a true label.
    """

    def __init__(
        self,
        objective: Objective,
        labels: AnyArray,
        n_classes: int,
        *,
        fraction_bits: int,
        sampling: Sampling,
        shown: AnyArray | None = None,
    ) -> None:
        self.objective = objective
        self.fraction_bits, self.sampling = fraction_bits, sampling
        self.first_score = first_score(objective, labels)
        self.scores = np.full((len(labels), n_scores(objective, n_classes)), self.first_score)
        self._grown_on = labels if shown is None else shown
        self._fitted = None if shown is None else _Fitted(objective, labels, self.scores.copy())
        self._g = self._h = self.scores

    def start_round(self) -> None:
        """All trees of a round have their gradients from the scores that it began with."""
        self._g, self._h = derivatives(self.objective, self.scores, self._grown_on)
        if self._fitted is not None:
            self._fitted.start_round()

    def gradients(self, score: int, rng: np.random.Generator) -> Gradients:
        factors = self.sampling.factors(self._g[:, score], rng)
        g = encode(factors * self._g[:, score], self.fraction_bits)
        h = encode(factors * self._h[:, score], self.fraction_bits)
        return Gradients(g, h, np.asarray(factors > 0, dtype=bool), self.fraction_bits)

    def add(self, tree: GrownTree, score: int, rule: Rule) -> None:
        for leaf, rows in tree.rows_of_leaf.items():
            self.scores[rows, score] += tree.weight[leaf]
        if self._fitted is not None:
            self._fitted.fit(tree, score, rule)


class _Fitted:
    """The scores that the model's leaves add up to, where those are fitted to other labels than trees are grown on."""

    def __init__(self, objective: Objective, labels: AnyArray, scores: FloatArray) -> None:
        self._objective, self._labels, self._scores = objective, labels, scores
        self._g = self._h = scores

    def start_round(self) -> None:
        self._g, self._h = derivatives(self._objective, self._scores, self._labels)

    def fit(self, tree: GrownTree, score: int, rule: Rule) -> None:
        for leaf, rows in tree.rows_of_leaf.items():
            g, h = float(self._g[rows, score].sum()), float(self._h[rows, score].sum())
            tree.weight[leaf] = leaf_weight(g, h, rule)
            self._scores[rows, score] += tree.weight[leaf]


def shown_labels(labels: AnyArray, n_classes: int, epsilon: float, rng: np.random.Generator) -> AnyArray | None:
    """What trees are grown on in place of the labels; None where that is the labels."""
    return randomised(labels, n_classes, epsilon, rng) if epsilon else None


def listed_candidates(
    columns: BinnedColumns, rng: np.random.Generator, *, by_column: bool, column_share: float = 1.0
) -> Candidates:
    """The order in which an owner lists its candidates in one tree: shuffled, within each column or over all."""
    found = columns.candidates()
    n_columns = len(columns.thresholds)
    if column_share < 1 and n_columns:
        taken = rng.permutation(n_columns)[: max(1, round(column_share * n_columns))]
        found = found.chosen(np.flatnonzero(np.isin(found.column, taken)))
    order = rng.permutation(len(found))
    if by_column:
        order = order[np.argsort(found.column[order], kind="stable")]
    return found.chosen(order)


@dataclass(frozen=True, eq=False)
class Listing:
    """One owner's candidates in one tree, with what they stand for."""

    columns: BinnedColumns
    candidates: Candidates
    offset: int  # of the owner's columns among all

    def split(self, candidate: int) -> tuple[int, float, bool]:
        """Column among all, threshold, and whether missing cells go left."""
        column, cut = int(self.candidates.column[candidate]), int(self.candidates.cut[candidate])
        threshold = float(self.columns.thresholds[column][cut])
        return self.offset + column, threshold, bool(self.candidates.missing_left[candidate])


@dataclass(frozen=True, eq=False)
class FinishedTree:
    grown: GrownTree
    listings: tuple[Listing, ...]  # of the owners that took part
    score: int


def assembled(trees: Sequence[FinishedTree], booster: Booster, columns: tuple[str, ...]) -> BoostedModel:
    """The whole model: nobody in a federation holds it."""
    feature, threshold, missing_left = _splits(trees)
    return BoostedModel(
        columns,
        left=_joined(trees, "left"),
        right=_joined(trees, "right"),
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        weight=np.array([w for tree in trees for w in tree.grown.weight], dtype=np.float64),
        sizes=np.array([len(tree.grown.left) for tree in trees], dtype=np.int64),
        score_of_tree=np.array([tree.score for tree in trees], dtype=np.int64),
        objective=booster.objective,
        n_scores=booster.scores.shape[1],
        first_score=booster.first_score,
    )


def _joined(trees: Sequence[FinishedTree], name: str) -> IntArray:
    return np.array([child for tree in trees for child in getattr(tree.grown, name)], dtype=np.int64)


def _splits(trees: Sequence[FinishedTree]) -> tuple[IntArray, FloatArray, BoolArray]:
    found = [
        (LEAF, np.nan, False) if choice is None else tree.listings[choice.owner].split(choice.candidate)
        for tree in trees
        for choice in tree.grown.choices
    ]
    feature, threshold, missing_left = zip(*found, strict=True)
    return np.array(feature, dtype=np.int64), np.array(threshold, dtype=np.float64), np.array(missing_left, dtype=bool)


@dataclass(frozen=True)
class CentralTraining:
    """The settings of a training, as the centralised one takes them."""

    objective: Objective
    n_classes: int
    n_rounds: int
    rule: Rule
    bins: int = 32
    min_bin_rows: int = 1
    by_column: bool = True
    first_tree_alone: bool = False  # the first round uses the first part's columns only
    fraction_bits: int = 40
    sampling: Sampling = Sampling()
    label_epsilon: float = 0.0  # 0: trees are grown on the labels as they are


def train_centrally(
    parts: Sequence[FloatArray],
    labels: AnyArray,
    columns: tuple[str, ...],
    training: CentralTraining,
    rngs: Sequence[np.random.Generator],
) -> BoostedModel:
    """``parts`` are the owners' columns, the label holder's first; each draws from a generator of its own."""
    binned = [
        BinnedColumns.of(part, [quantile_thresholds(c, training.bins, training.min_bin_rows) for c in part.T])
        for part in parts
    ]
    offsets = np.cumsum([0, *(part.shape[1] for part in parts)])
    booster = Booster(
        training.objective,
        labels,
        training.n_classes,
        fraction_bits=training.fraction_bits,
        sampling=training.sampling,
        shown=shown_labels(labels, training.n_classes, training.label_epsilon, rngs[0]),
    )
    trees = []
    for number in range(training.n_rounds):
        booster.start_round()
        taking_part = 1 if number == 0 and training.first_tree_alone else len(parts)
        for score in range(booster.scores.shape[1]):
            gradients = booster.gradients(score, rngs[0])
            listings = tuple(
                Listing(own, _listed(own, rng, training), int(offset))
                for own, rng, offset in zip(binned[:taking_part], rngs, offsets, strict=False)
            )
            owners = [PlainOwner(one.columns, one.candidates, gradients) for one in listings]
            grown = grow(owners, gradients, training.rule, BestGain(), tell_leaves=False)
            booster.add(grown, score, training.rule)
            trees.append(FinishedTree(grown, listings, score))
    return assembled(trees, booster, columns)


def _listed(own: BinnedColumns, rng: np.random.Generator, training: CentralTraining) -> Candidates:
    return listed_candidates(own, rng, by_column=training.by_column, column_share=training.sampling.column_share)
