"""How well labels that are classes are told: by rank, class by class, among the surest, and as a share of all.

What decides does not depend on how rare a class is: the area under the ROC curve of two classes, the balanced accuracy
of more. A row's rank is the probability that it is positive: the guess's confidence where it says so, one less it where
it does not. A row without a guess stands between. Of equally good candidates, the share that says so is the rank. Where
the adversary knows a few labels, those rows do not count, and the baseline is what they and its own columns say.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.finding import Better, Score
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.alignment import places
from fedleak.metrics.blind_labels import gain_of_accuracy, gain_of_area
from fedleak.metrics.cell_metrics import are_classes
from fedleak.metrics.exact_shares import chance_of, share_interval
from fedleak.metrics.metric import LUCK, Answered, Metric, ShareMetric
from fedleak.metrics.rank_interval import Ranking, area_interval

OF_CLASSES = frozenset({SecretKind.LABELS, SecretKind.MEMBERS})
CLASS_TOLERANCE = 0.01  # of the step from a class to the next
SUREST = 1000  # rows, or a tenth of all where that is fewer
FALSE_POSITIVES = 0.01


class RankMetric(Metric):
    """Of two classes in the order that the guess puts the rows in. Symmetries move values and not confidences, so that
    an answer up to one of them has no such order."""

    better = Better.HIGHER
    applies_to = OF_CLASSES

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        found = _ranked(answered)
        return None if found is None else self.beside_blinds(self.score_of(found.ranking, rng), found, rng)

    @abstractmethod
    def score_of(self, ranking: Ranking, rng: np.random.Generator) -> Score: ...

    def beside_blinds(self, score: Score, found: _Ranked, rng: np.random.Generator) -> Score:
        values = [self.score_of(Ranking.of(blind, found.positive), rng).value for blind in found.blinds]
        return replace(score, baseline=max([score.baseline, *values]))

    def share(self, hits: float, n: int, baseline: float) -> Score:
        return Score(self.name, hits / n, baseline, self.better, share_interval(hits, n), n)


class AreaUnderCurve(RankMetric):
    """An interval above 1/2 is kept only where shuffled labels do not reach the area: formulas fail with few rows."""

    name = "auc"
    summary = "of two rows with different labels, how often the right one is said to be likelier; baseline: 0.5"

    def score_of(self, ranking: Ranking, rng: np.random.Generator) -> Score:
        low, high = area_interval(ranking)
        luck = chance_of(ranking.table, np.stack([ranking.wins, np.zeros(len(ranking.wins))]), rng)
        n = ranking.n_positives + ranking.n_negatives
        ci = (min(low, 0.5) if luck > LUCK else low, high)
        return Score(self.name, ranking.area, 0.5, self.better, ci, n, p_value=luck)

    def beside_blinds(self, score: Score, found: _Ranked, rng: np.random.Generator) -> Score:
        """Luck must neither shuffle labels so far, nor take the best blind order so far."""
        areas = [Ranking.of(blind, found.positive).area for blind in found.blinds]
        if max(areas, default=0.0) <= score.baseline:
            return score
        best = int(np.argmax(areas))
        gain = gain_of_area(found.ranks, found.blinds[best], found.positive)
        chance = max(score.p_value or 0.0, gain.chance)
        return replace(score, baseline=areas[best], gain_ci=gain.interval, p_value=chance)


class PrecisionAmongSurest(RankMetric):
    name = "precision-among-surest"
    summary = "positives among as many surest rows as there are positives; baseline: their share of all rows"

    def score_of(self, ranking: Ranking, rng: np.random.Generator) -> Score:
        n = ranking.n_positives + ranking.n_negatives
        k = self.size(ranking.n_positives, n)
        return self.share(_positives_among(ranking, k), k, ranking.n_positives / n)

    def size(self, n_positives: int, n: int) -> int:
        return n_positives


class PrecisionAmongSurestTenth(PrecisionAmongSurest):
    name = "precision-among-surest-tenth"
    summary = "positives among the surest tenth of the rows, at most 1,000; baseline: their share of all rows"

    def size(self, n_positives: int, n: int) -> int:
        return max(1, min(SUREST, n // 10))


class TruePositivesAtFewFalse(RankMetric):
    """Between two places in the order, as many of the later one's rows as the hundredth allows, drawn blindly. The
    baseline is what blind ranks give: with few negatives that is more than 1 %, as none of them stands first by luck.
    """

    name = "true-positive-rate-at-1-percent"
    summary = "share of the positives said to be so, at 1 % false positives; baseline: the same of blind ranks"

    def score_of(self, ranking: Ranking, rng: np.random.Generator) -> Score:
        allowed = FALSE_POSITIVES * ranking.n_negatives
        false, true = (np.concatenate([[0], np.cumsum(counts)]) for counts in (ranking.negatives, ranking.positives))
        last = np.append(np.diff(false) > 0, True)  # of the places with as many false ones, the last
        hits = float(np.interp(allowed, false[last], true[last]))
        blind = (allowed + 1) / (ranking.n_negatives + 1)
        return self.share(hits, ranking.n_positives, blind)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Of the rows that count: how likely each is positive, by the answer and by every blind order."""

    ranks: FloatArray
    positive: BoolArray
    blinds: tuple[FloatArray, ...] = ()

    @property
    def ranking(self) -> Ranking:
        return Ranking.of(self.ranks, self.positive)


def _ranked(answered: Answered) -> _Ranked | None:
    """None where there are not two classes, or the answer is up to a symmetry."""
    true, counted = answered.truth.values, answered.unknown
    classes = np.unique(true[counted]) if are_classes(true) else np.empty(0)
    if len(classes) != 2 or answered.up_to:
        return None
    ranks = np.mean([_chances(answered, cells, classes) for cells in answered.answers], axis=0)
    first, second = classes.astype(np.int64).tolist()
    blinds = [(one[:, second] - one[:, first])[counted.ravel()] for one in answered.blind_chances]
    return _Ranked(ranks[counted], true[counted] == second, tuple(blinds))


def ranking_of(answered: Answered) -> Ranking | None:
    found = _ranked(answered)
    return None if found is None else found.ranking


def _chances(answered: Answered, cells: FloatArray, classes: FloatArray) -> FloatArray:
    """The probability of the second class, by one answer; 1/2 where it names neither."""
    sure = _confidence(answered)
    is_first, is_second = (np.abs(cells - one) <= CLASS_TOLERANCE for one in classes)
    return np.where(is_second, sure, np.where(is_first, 1 - sure, 0.5))


def _confidence(answered: Answered) -> FloatArray:
    """Of each cell in the truth's order; 1 where none is stated. It is stated of the guess, not of candidates."""
    guess, truth = answered.guess, answered.truth
    sure = np.ones(truth.values.shape)
    if guess.confidence is not None and not guess.candidates:
        found = places(truth.ids, guess.ids)
        stated = guess.confidence[found[found >= 0]]
        sure[found >= 0] = np.where(np.isfinite(stated), np.clip(stated, 0.0, 1.0), 1.0)
    return sure


def _positives_among(ranking: Ranking, k: int) -> float:
    """Positives among the first k rows; of the group that k cuts, as many as a blind choice takes on average."""
    rows = np.concatenate([[0], np.cumsum(ranking.positives + ranking.negatives)])
    return float(np.interp(k, rows, np.concatenate([[0], np.cumsum(ranking.positives)])))


class BalancedAccuracy(Metric):
    """The mean over the classes of the share guessed right. A row without a guess is as good as a blind one."""

    name = "balanced-accuracy"
    summary = "share of labels guessed right, every class weighing the same; baseline: one class in so many"
    better = Better.HIGHER
    applies_to = OF_CLASSES

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        counted = answered.unknown
        true = answered.truth.values[counted]
        classes, sizes = np.unique(true, return_counts=True)
        if not are_classes(true) or len(classes) < 2 or answered.up_to:
            return None
        tables = [_confusion(cells[counted], true, classes) for cells in answered.answers]
        worth = _worth(sizes)
        hits = np.mean([(table * worth).sum(axis=1) for table in tables], axis=0) * sizes * len(classes)
        value, blind = float((hits / sizes).mean()), 1 / len(classes)
        low, high = _mean_share_interval(hits, sizes)
        luck = max(chance_of(table, worth, rng) for table in tables)
        ci = (min(low, blind) if luck > LUCK else low, high)
        score = Score(self.name, value, blind, self.better, ci, true.size, p_value=luck)
        return _beside_blind_classes(score, answered, classes)


def _beside_blind_classes(score: Score, answered: Answered, classes: FloatArray) -> Score:
    """The same as of areas: the best of the blind answers is the baseline, and the gain over it is paired."""
    counted = answered.unknown
    true = answered.truth.values[counted]
    named = [np.argmax(one, axis=1)[counted.ravel()] for one in answered.blind_chances]
    right = [(one == true).astype(np.float64) for one in named]
    shares = [float(np.mean([one[true == name].mean() for name in classes])) for one in right]
    if max(shares, default=0.0) <= score.baseline:
        return score
    best = int(np.argmax(shares))
    answers = [cells[counted] for cells in answered.answers]
    said = [np.where(np.isnan(one), 1 / len(classes), np.abs(one - true) <= CLASS_TOLERANCE) for one in answers]
    gain = gain_of_accuracy(np.mean(said, axis=0), right[best], true)
    chance = max(score.p_value or 0.0, gain.chance)
    return replace(score, baseline=shares[best], gain_ci=gain.interval, p_value=chance)


def _confusion(cells: FloatArray, true: FloatArray, classes: FloatArray) -> IntArray:
    """True classes by guessed ones; behind them rows without a guess, and such as name no class that there is."""
    said = [np.abs(cells - one) <= CLASS_TOLERANCE for one in classes]
    silent = np.isnan(cells)
    said += [silent, ~silent & ~np.any(said, axis=0)]
    return np.array([[int((group & (true == one)).sum()) for group in said] for one in classes])


def _worth(sizes: IntArray) -> FloatArray:
    """What a row of each cell of the confusion adds to the balanced accuracy."""
    k = len(sizes)
    right = np.hstack([np.eye(k), np.full((k, 1), 1 / k), np.zeros((k, 1))])
    return np.asarray(right / (k * sizes)[:, None])


def _mean_share_interval(hits: FloatArray, sizes: IntArray) -> tuple[float, float]:
    """Of a mean of independent shares, from the exact interval of each (Zou and Donner 2008)."""
    shares = hits / sizes
    ends = np.array([share_interval(float(hit), int(size)) for hit, size in zip(hits, sizes, strict=True)])
    below, above = (float(np.sqrt(((ends[:, side] - shares) ** 2).sum())) / len(sizes) for side in (0, 1))
    middle = float(shares.mean())
    return middle - below, middle + above


class LabelAccuracy(ShareMetric):
    """The best blind answer is the more frequent class, or what known labels and own columns say."""

    name = "label-accuracy"
    summary = "share of labels guessed right; baseline: the majority class"
    applies_to = OF_CLASSES

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return are_classes(truth.values)

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        right: BoolArray = np.abs(cells - truth.values) <= CLASS_TOLERANCE
        return right.astype(np.float64)

    def blind_cells(self, answered: Answered) -> FloatArray:
        true, counted = answered.truth.values, answered.unknown
        found = [np.full(true.shape, _majority(true[counted]))]
        found += [np.argmax(one, axis=1)[:, None].astype(np.float64) for one in answered.blind_chances]
        return max(found, key=lambda cells: float((cells == true)[counted].mean()))

    def baseline_scores(self, answered: Answered, blind: FloatArray) -> FloatArray:
        """No order of the guess's rows does better than naming one class for all: not on average."""
        return self.cell_scores(blind, answered.truth)


def _majority(labels: FloatArray) -> float:
    classes, counts = np.unique(labels, return_counts=True)
    return float(classes[np.argmax(counts)])
