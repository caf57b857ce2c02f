"""What is seen is one table's, what is true is another's: the same people to the adversary, with secrets of their own.

Both tables share all that the adversary has (its columns, its labels, the cells that it knows, its own random draws)
and are independent beyond: what a view says of the first is nothing of the second, and every leak is a false one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.planner import PlannedRun, Task
from fedleak.calibration.layouts import Layout, with_unit_rows
from fedleak.calibration.populations import Population
from fedleak.calibration.stage import Stage
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, flat_rows
from fedleak.core.attack import Guess
from fedleak.core.knowledge import Knowledge, KnownColumn, KnownLabels
from fedleak.core.whole.federation import Federation, Party
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.trial.attempt import Attempt
from fedleak.trial.canaries import CANARIES, Redrawn, redraw
from fedleak.trial.play import Played, play

OF_A_RUN = frozenset({SecretKind.RESIDUALS, SecretKind.PARTIAL_SCORES, SecretKind.WEIGHTS, SecretKind.MEMBERS})


@dataclass(frozen=True, eq=False)
class Twins:
    seen: Federation
    true: Federation
    knowledge: Knowledge  # true of both


def draw_twins(stage: Stage, population: Population, n: int, seed: int) -> Twins:
    rng = np.random.default_rng([seed, n, *stage.name.encode(), 0, *population.name.encode()])
    layout = stage.layout(population, n, stage.settings(n), rng)
    latent = population.latent(layout.own, layout.width, rng)
    seen = layout.federation(latent, rng)
    adversary = stage.adversary_at(population.name)

    def declared(federation: Federation) -> Knowledge:
        """The same cells of any table: which are known is public."""
        return draw_knowledge(adversary.knowledge, federation, adversary.parties, np.random.default_rng([seed, 1]))

    if stage.own_truth:
        (seen,) = with_unit_rows([seen]) if stage.unit_rows else (seen,)
        return Twins(seen, seen, declared(seen))
    known = _known(layout, seen, declared(seen))
    true = layout.federation(population.latent_beside(layout.own, latent, known, rng), rng)
    if stage.unit_rows:
        seen, true = with_unit_rows([seen, true])
    knowledge = fitting_both(declared(seen), declared(true))
    return Twins(seen, _with_known_labels(true, knowledge), knowledge)


def _with_known_labels(federation: Federation, knowledge: Knowledge) -> Federation:
    """What the adversary knows is the same in both tables."""
    return replace(federation, parties=tuple(_relabelled(party, knowledge) for party in federation.parties))


def _relabelled(party: Party, knowledge: Knowledge) -> Party:
    rows = party.train
    known = knowledge.labels_of(party.name, rows.ids)
    if rows.labels is None or not np.isfinite(known).any():
        return party
    labels = np.where(np.isfinite(known), known, rows.labels).astype(rows.labels.dtype)
    return replace(party, train=replace(rows, labels=labels))


def knowledge_of_run(knowledge: Knowledge, federation: Federation) -> Knowledge:
    """The same rows are known where some labels were redrawn, with the labels that they have there."""
    return replace(knowledge, labels=tuple(_of_run(known, federation) for known in knowledge.labels))


def _of_run(known: KnownLabels, federation: Federation) -> KnownLabels:
    rows = federation.party(known.owner).train
    assert rows.labels is not None
    place = dict(zip(rows.ids.tolist(), rows.labels.tolist(), strict=True))
    return replace(known, values=np.array([place[row] for row in known.ids.tolist()], dtype=np.float64))


def _known(layout: Layout, federation: Federation, knowledge: Knowledge) -> BoolArray:
    rows = federation.party(layout.victim).train
    return flat_rows(knowledge.cell_mask(layout.victim, rows.ids, rows.features.shape[1:]))


def fitting_both(first: Knowledge, second: Knowledge) -> Knowledge:
    """Ranges that hold both tables; kinds and steps where they are the same."""
    columns = tuple(_fitting(one, other) for one, other in zip(first.columns, second.columns, strict=True))
    return replace(first, columns=columns)


def _fitting(one: KnownColumn, other: KnownColumn) -> KnownColumn:
    alike = one.kind is other.kind and one.step == other.step and one.low == other.low
    widest = replace(
        one,
        low=None if one.low is None or other.low is None else min(one.low, other.low),
        high=None if one.high is None or other.high is None else max(one.high, other.high),
    )
    return widest if alike else replace(widest, kind=None, step=None, slack=0.0)


@dataclass(frozen=True, eq=False)
class RedrawnTwins:
    """For one run: in both the same rows may have other labels."""

    seen: Redrawn
    true: Redrawn


@dataclass(frozen=True)
class TwinRandomness(Randomness):
    """Of a run in which some parties draw as they did in another."""

    shared: tuple[str, ...] = ()
    other: Randomness | None = None

    def secret(self, owner: str, *purpose: str) -> np.random.Generator:
        if self.other is not None and owner in self.shared:
            return self.other.secret(owner, *purpose)
        return super().secret(owner, *purpose)


class Trials:
    """The runs of one pair of tables, and what the attacks of some tasks make of them."""

    def __init__(
        self, stage: Stage, planned: PlannedRun, twins: Twins, *, tasks: Sequence[Task], seed: int, repeats: int
    ) -> None:
        self._stage = stage
        self._of_a_run = any(task.target.kind in OF_A_RUN for task in tasks)
        self._planned = planned
        self._seen, self._true = Randomness.published(seed, "seen"), Randomness.published(seed, "true")
        redrawn = [self._redrawn(twins, number, repeats - 1) for number in range(repeats)]
        self._knowledge = [knowledge_of_run(twins.knowledge, pair.seen.federation) for pair in redrawn]
        seen = [self._played_on(pair.seen, number) for number, pair in enumerate(redrawn)]
        self._judged = seen if stage.own_truth else self._judged_by([pair.true for pair in redrawn], seen)

    def _redrawn(self, twins: Twins, number: int, n_runs: int) -> RedrawnTwins:
        """As an audit does in all runs but the first: the same rows of both tables, with labels of their own."""
        rows = TwinRandomness(self._true.key, self._true.seed, (CANARIES,), self._seen)
        targets = dict.fromkeys(task.target for task in self._planned.tasks if task.skip is None)
        found = [
            redraw(federation, targets if number else (), randomness, number=number, n_runs=n_runs)
            for federation, randomness in ((twins.seen, self._seen), (twins.true, rows))
        ]
        if set(found[0].ids) != set(found[1].ids):  # one of them has a single class
            return RedrawnTwins(Redrawn(twins.seen), Redrawn(twins.true))
        return RedrawnTwins(*found)

    def _played_on(self, seen: Redrawn, number: int) -> Played:
        played = _played(self._planned, seen.federation, self._seen.again(number))
        return replace(played, canaries=seen.ids)

    def _judged_by(self, true: Sequence[Redrawn], seen: Sequence[Played]) -> list[Played]:
        """What is of the data is the same in every run but for labels that were redrawn: one run tells it."""
        judged: list[Played] = []
        for number, (table, played) in enumerate(zip(true, seen, strict=True)):
            if self._of_a_run or not judged:
                truth = _played(self._planned, table.federation, self._beside(played.randomness, number)).run.truth
            judged.append(replace(played, run=replace(played.run, truth=relabelled(truth, table))))
        return judged

    def _beside(self, randomness: Randomness, number: int) -> Randomness:
        own = self._true.again(number)
        return TwinRandomness(own.key, own.seed, self._stage.adversary.parties, randomness)

    def attempts(self, task: Task, *, brief: bool = True) -> list[Attempt]:
        """In this process: it is the decision that is calibrated, and attacks that cheat are caught elsewhere."""
        attack = self._stage.tried(task.attack)
        found = [
            played.attempt(attack, task.adversary.parties, task.target, knowledge, isolated=False, brief=brief)
            for played, knowledge in zip(self._judged, self._knowledge, strict=True)
        ]
        return found if self._stage.own_truth else [_unproved(attempt) for attempt in found]


def relabelled(truth: Truth, table: Redrawn) -> Truth:
    """With the labels that the rows of this table have."""
    found = {}
    for secret in table.ids:
        rows, kept = table.federation.party(secret.owner).train, truth.of(secret)
        assert rows.labels is not None
        found[secret] = SecretValues.spanning(kept.ids, kept.columns, rows.labels.astype(np.float64)[:, None])
    return replace(truth, secrets={**truth.secrets, **found})


def _unproved(attempt: Attempt) -> Attempt:
    """What the view proves is of the table that is seen: of the other one it is a claim like any other."""
    if not isinstance(attempt.result, Guess):
        return attempt
    return replace(attempt, result=replace(attempt.result, certificate=""))


def _played(planned: PlannedRun, federation: Federation, randomness: Randomness) -> Played:
    return play(
        federation, randomness, defense=planned.defense, deviation=planned.dishonest, deviating=planned.deviating
    )
