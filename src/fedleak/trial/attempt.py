"""What came of one attack on one view: a guess with its scores, or the reason why there is none.

An attempt holds no outcome: whether something leaks is decided over several runs, attacks and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Status
from fedleak.core.errors import RunError
from fedleak.core.finding import ColumnResult, Exhibit, Score
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import Truth
from fedleak.metrics import metrics_for
from fedleak.metrics.blind import own_rows
from fedleak.metrics.cell_metrics import CellsRecovered, recovered_share, within_margin
from fedleak.metrics.column_results import column_results
from fedleak.metrics.interval_score import bounds_of
from fedleak.metrics.metric import Answered
from fedleak.metrics.row_tests import RowTest, row_tests
from fedleak.trial.canaries import parts_of
from fedleak.trial.exhibits import exhibit_of
from fedleak.trial.scored_rows import some_rows
from fedleak.trial.spent import Spent


@dataclass(frozen=True)
class Failure:
    """Why there is no guess; ``skipped`` where the attack lacks something, which is no defect of anybody's."""

    why: str
    skipped: bool = False


@dataclass(frozen=True, eq=False)
class Attempt:
    attack: type[Attack]
    coalition: tuple[str, ...]
    target: Secret
    knowledge: Knowledge
    result: Guess | Failure
    seconds: float
    isolated: bool = True  # in a process that held the view and nothing else
    scores: tuple[Score, ...] = ()  # the deciding one first; none where nothing was said, or nobody asked
    cells_recovered: float | None = None
    told_right: float | None = None  # of the cells that the attack itself gives, how many are right
    columns: tuple[ColumnResult, ...] = ()  # of a table, each named column
    tests: tuple[RowTest, ...] = ()  # how likely luck alone gets so far: what decides
    exhibit: Exhibit | None = None
    sampled: str = ""  # what part of a large secret was scored, in words
    unchecked: bool = False  # the truth says nothing of the target
    canaries: Answered | None = None  # what was said of rows whose labels were redrawn; the scores are of all others
    spent: Spent | None = None  # by the attack itself, within ``seconds``; None where it did not come to its end

    @property
    def guess(self) -> Guess:
        if isinstance(self.result, Failure):
            raise RunError(f"{self.attack.name} has no guess: {self.result.why}")
        return self.result

    @property
    def attack_seconds(self) -> float:
        """Of the attack itself, without its process and its view: what a paper's running times are about."""
        return self._own_times().seconds

    @property
    def cpu_seconds(self) -> float:
        return self._own_times().cpu_seconds

    def _own_times(self) -> Spent:
        if self.spent is None:
            why = self.result.why or "it was ended before it answered"
            raise RunError(f"{self.attack.name} has no times of its own: {why}")
        return self.spent


def scored(
    attempt: Attempt, truth: Truth, rng: np.random.Generator, canaries: IntArray | None = None, *, brief: bool = False
) -> Attempt:
    """The attempt beside the truth. A guess without a single value has no score: that is not a zero. ``canaries`` are
    rows whose labels were redrawn: they are kept apart. ``brief`` leaves out what is told and does not decide."""
    guess, attack = attempt.result, attempt.attack
    if isinstance(guess, Failure) or guess.status is Status.NOT_IDENTIFIABLE or not np.isfinite(guess.values).any():
        return attempt
    if not truth.can_check(guess.secret):
        return replace(attempt, unchecked=True)
    answered, redrawn = parts_of(_beside(attempt, guess, truth), canaries)
    # One generator, through the metrics in their order: what one draws moves the intervals of those after it.
    found = (metric.score(answered, rng=rng) for metric in metrics_for(guess.secret.kind, attack.measured_by))
    told = (score for score in found if score is not None)
    scores = tuple(islice(told, 1)) if brief else tuple(told)
    if not scores:
        return attempt
    tests = row_tests(answered, scores[0], rng=rng.spawn(1)[0])
    right = told_right(answered)  # of what the view proves
    decided_on = replace(attempt, scores=scores, tests=tests, told_right=right, canaries=redrawn)
    return decided_on if brief else _told(decided_on, answered)


def _beside(attempt: Attempt, guess: Guess, truth: Truth) -> Answered:
    """An answer up to the order of rows needs them all; of any other, so many rows say what all of them would."""
    values, served = truth.of(guess.secret), truth.served_to(attempt.coalition)
    if not attempt.attack.up_to:
        values, served = some_rows(values, served)
    own = own_rows(truth, attempt.coalition, guess.secret, values)
    return Answered(guess, values.filled(), attempt.knowledge, attempt.attack.up_to, served, own, values.absent)


def _told(attempt: Attempt, answered: Answered) -> Attempt:
    """With what a report shows beside the decision."""
    columns = column_results(answered)
    return replace(
        attempt,
        cells_recovered=_cells_recovered(answered),
        columns=columns,
        exhibit=exhibit_of(answered, columns),
        sampled=answered.truth.sampled,
    )


def told_right(answered: Answered) -> float | None:
    """To within 1 % of the range; of ranges, those that hold the truth. None where no unknown cell was told."""
    truth, told = answered.truth, answered.unknown & np.isfinite(answered.answers[0])
    if not told.any():
        return None
    if answered.guess.secret.kind is SecretKind.RANGES and answered.guess.intervals is not None:
        low, high = bounds_of(answered)
        slack = 1e-9 * (truth.highest - truth.lowest)
        return float(((low - slack <= truth.values) & (truth.values <= high + slack))[told].mean())
    return float(within_margin(answered.answers[0], truth)[told].mean())


def _cells_recovered(answered: Answered) -> float | None:
    kind = answered.guess.secret.kind
    if kind not in CellsRecovered.applies_to or not CellsRecovered().suits(kind, answered.truth):
        return None
    return recovered_share(answered)
