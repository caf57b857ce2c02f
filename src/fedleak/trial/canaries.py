"""Rows whose labels are redrawn, so that two things are told apart: what any useful model predicts of a row, and what
the transcript says about it.

In the further runs of an audit some rows (canaries) get labels that are independent of everything. What an attack says
of those can come from the transcript about the row alone: that is recovery, and decides. On all other rows it is mixed
with what a model that learnt something predicts of any row like it: population inference, which is told beside it.

How many rows are redrawn depends on the number of rows alone. In each run every class has its share of them, and at
least one row: which of them has which label is all that is random, and nothing else in the run goes by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, lcm

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.attack import Guess
from fedleak.core.finding import ColumnResult, Score
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.federation import Federation, Party
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics import metrics_for
from fedleak.metrics.alignment import places
from fedleak.metrics.cell_metrics import are_classes
from fedleak.metrics.column_results import column_results
from fedleak.metrics.metric import Answered
from fedleak.metrics.row_tests import RowTest, row_tests

CANARIES = "canaries"  # whose random draws these are
SHARE = 0.1
FEWEST = 32  # over all runs: with fewer, an attack that is always right could pass for luck
LARGEST_SHARE = 0.5  # of a small table; the other rows are what the model learns from

NOT_TOLD_APART = "population and recovery are not told apart"
AS_ANY_MODEL = "it predicts as any useful model does, and tells nothing of rows whose labels were redrawn"
NO_BETTER = "the guess does not beat the baseline"


@dataclass(frozen=True, eq=False)
class Redrawn:
    """A federation in which some rows have other labels, and which rows those are."""

    federation: Federation
    ids: Mapping[Secret, IntArray] = field(default_factory=dict)


def n_canaries(n_rows: int, n_runs: int) -> int:
    """In each of so many runs: a tenth, and more of a small table."""
    return min(int(LARGEST_SHARE * n_rows), max(ceil(SHARE * n_rows), ceil(FEWEST / n_runs)))


def redraw(
    federation: Federation, targets: Iterable[Secret], randomness: Randomness, *, number: int, n_runs: int
) -> Redrawn:
    """Of the run with this number, from 1 on. Targets without labels, or with too few rows for it, stay as they are."""
    parties, found = {party.name: party for party in federation.parties}, {}
    for target in targets:
        owner = parties.get(target.owner)
        if target.kind is SecretKind.LABELS and owner is not None:
            rows = _rows(owner, randomness, number, n_runs)
            if len(rows):
                draws = randomness.again(number).secret(CANARIES, "labels", owner.name)
                parties[owner.name] = _with_labels(owner, rows, draws)
                found[target] = owner.train.ids[rows]
    return Redrawn(replace(federation, parties=tuple(parties.values())), found)


def _rows(owner: Party, randomness: Randomness, number: int, n_runs: int) -> IntArray:
    """Every run takes the next rows of one random order, so that as many as possible have their turn."""
    labels = owner.train.labels
    n_classes = 0 if labels is None else len(np.unique(labels))
    n_rows = len(owner.train.ids)
    count = n_canaries(n_rows, n_runs)
    if n_classes < 2 or (labels is not None and are_classes(labels) and count < n_classes):
        return np.zeros(0, dtype=np.int64)
    order = randomness.secret(CANARIES, "rows", owner.name).permutation(n_rows)
    return np.asarray(order[((number - 1) * count + np.arange(count)) % n_rows])


def _with_labels(owner: Party, rows: IntArray, rng: np.random.Generator) -> Party:
    assert owner.train.labels is not None
    labels = owner.train.labels.copy()
    labels[rows] = dealt(labels, len(rows), rng)
    return replace(owner, train=replace(owner.train, labels=labels))


def dealt(labels: AnyArray, count: int, rng: np.random.Generator) -> AnyArray:
    """So many labels in random order: classes by their shares, each at least once; numbers as any rows have them."""
    if not are_classes(labels):
        return rng.choice(labels, count, replace=False)
    classes, sizes = np.unique(labels, return_counts=True)
    quotas = sizes * count / len(labels)
    counts = np.maximum(np.floor(quotas).astype(np.int64), 1)
    while counts.sum() != count:
        step = 1 if counts.sum() < count else -1
        behind = np.where((counts > 1) | (step > 0), step * (quotas - counts), -np.inf)
        counts[np.argmax(behind)] += step
    return rng.permutation(np.repeat(classes, counts))


def parts_of(answered: Answered, canaries: IntArray | None) -> tuple[Answered, Answered | None]:
    """The answer on ordinary rows, and on canaries where there are any. An answer up to a symmetry is matched to the
    truth, which flatters it on a few rows: it stays whole."""
    if canaries is None or answered.up_to:
        return answered, None
    drawn, known = np.isin(answered.truth.ids, canaries), ~answered.unknown.any(axis=1)
    asked = drawn & ~known  # what is known stays beside what is scored
    return _on(answered, ~asked), _on(answered, asked) if asked.any() else None


def _on(answered: Answered, rows: AnyArray) -> Answered:
    truth, own = answered.truth, answered.own
    if own is not None:
        labels = None if own.labels is None else own.labels[rows]
        own = replace(own, beside=own.beside[rows], labels=labels)
    absent = None if answered.absent is None else answered.absent[rows]
    cut = replace(truth, ids=truth.ids[rows], values=truth.values[rows])
    return replace(answered, truth=cut, own=own, absent=absent)


@dataclass(frozen=True, eq=False)
class Recovery:
    """What was found on the canaries of all runs; false where there are none that could decide."""

    scores: tuple[Score, ...] = ()  # the deciding one first
    tests: tuple[RowTest, ...] = ()
    columns: tuple[ColumnResult, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.scores)


NO_RECOVERY = Recovery()


def recovery(parts: Sequence[Answered], *, first: str | None, rng: np.random.Generator) -> Recovery:
    """Nothing where even an answer without an error would not decide. ``first`` names another metric than usual to
    decide. Labels are redrawn run by run, so that luck of one run is none of another, and all rows count as one run."""
    if not parts:
        return NO_RECOVERY
    answered = pooled(parts)
    perfect = replace(answered.guess, values=answered.truth.values, candidates=(), confidence=None)
    best = next(_scores(replace(answered, guess=perfect), first, rng.spawn(1)[0]), None)
    if best is None or not best.beats_baseline:
        return NO_RECOVERY
    scores = tuple(_scores(answered, first, rng))
    return (
        Recovery(scores, row_tests(answered, scores[0], rng=rng), column_results(answered)) if scores else NO_RECOVERY
    )


def _scores(answered: Answered, first: str | None, rng: np.random.Generator) -> Iterator[Score]:
    found = (metric.score(answered, rng=rng) for metric in metrics_for(SecretKind.LABELS, first))
    return (score for score in found if score is not None)


def pooled(parts: Sequence[Answered]) -> Answered:
    """The canaries of all runs as rows of one secret."""
    first = parts[0]
    answers = _answers(parts)
    ids = np.arange(len(answers[0]), dtype=np.int64)
    values = np.concatenate([part.truth.values for part in parts])
    ranges = np.stack([part.truth.ranges for part in parts])
    spans = np.stack([ranges[..., 0].min(axis=0), ranges[..., 1].max(axis=0)], axis=-1)
    several = len(answers) > 1
    guess = Guess(
        first.guess.secret,
        first.guess.status,
        ids,
        answers[0],
        confidence=None if several else np.concatenate([_confidence(part) for part in parts]),
        candidates=answers if several else (),
    )
    return Answered(guess, SecretValues(ids, first.truth.columns, values, spans), Knowledge())


def _answers(parts: Sequence[Answered]) -> tuple[FloatArray, ...]:
    """Each run's candidates, as often as makes their numbers equal: every one weighs in its run as it did."""
    n_answers = lcm(*(len(part.answers) for part in parts))
    return tuple(
        np.concatenate([part.answers[index % len(part.answers)] for part in parts]) for index in range(n_answers)
    )


def _confidence(part: Answered) -> FloatArray:
    """In the order of the canaries; NaN, which is "not stated", where the attack says none."""
    stated = np.full(part.truth.values.shape, np.nan)
    if part.guess.confidence is not None:
        found = places(part.truth.ids, part.guess.ids)
        stated[found >= 0] = part.guess.confidence[found[found >= 0]]
    return stated


@dataclass(frozen=True)
class ToldApart:
    """Which of two scores decides. ``population`` is None where there is only one."""

    deciding: Score
    population: Score | None = None

    @property
    def no_leak(self) -> str:
        """Why it is none."""
        return AS_ANY_MODEL if self.population is not None and self.population.beats_baseline else NO_BETTER

    def caveat(self, guess: Guess, *, one_run: bool) -> str:
        """What to say of labels where the two were not told apart."""
        if self.population is not None or guess.secret.kind is not SecretKind.LABELS:
            return ""
        return f"{NOT_TOLD_APART}: {'one run' if one_run else 'no labels could be redrawn'}"


def told_apart(over_runs: Score, recovery: Recovery) -> ToldApart:
    """A useful model is no leak for being useful: what is said of redrawn labels decides, where some were redrawn. How
    likely luck is, is the finding's to say."""
    return ToldApart(replace(recovery.scores[0], p_value=None), over_runs) if recovery else ToldApart(over_runs)
