"""Table 4: inverting horizontal linear regression from the averages of whole models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.inversion.average_inversion import ColumnGram, column_gram, invert_columns
from fedleak.attacks.verdicts import NotIdentified
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Guess, Reference, Status
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2021.printed import TABLE4, HorizontalCase
from fedleak.papers.li2021.relative_error import median_error, relative_error
from fedleak.papers.li2021.tables import KNOWN_CELLS, STABLE_RATE, paper_table, plan_cells
from fedleak.papers.summaries import mean, mean_max
from fedleak.protocols.averaging.horizontal_linear import HorizontalLinear, HorizontalLinearSettings
from fedleak.trial.play import Played, play
from fedleak.trial.progress import Progress

ATTACKER, VICTIM, SERVER = "attacker", "victim", "server"
TARGET = Secret(SecretKind.FEATURES, VICTIM)
EXTRAS = (0, 1, 2, 3, 4, 6, 8, 12, 16)
ROUNDS = 1500


@dataclass(frozen=True)
class _Measured:
    relative_error: float | None
    baseline_error: float
    seconds: float | None
    kdr: float | None
    n_solutions: int | None
    gram_error: float | None
    note: str


class Table4(Experiment):
    name = "li2021/table4"
    summary = "inverting the partner's rows, horizontal linear regression with averaged weights"
    reference = Reference("li2021", "table 4")
    from_true_rows = (STABLE_RATE, KNOWN_CELLS)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2, 3, 4)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, len(TABLE4) * 2)
        for case in TABLE4:
            for shuffled in (True, False):
                found = [_measure(case, shuffled, seed) for seed in self.seeds(quick=quick)]
                progress.advance()
                yield _row(case, shuffled, found)


def _measure(case: HorizontalCase, shuffled: bool, seed: int) -> _Measured:
    played, victim = _run(case, shuffled, seed)
    rng = np.random.default_rng([seed, 7])
    gram = column_gram(played.view((ATTACKER,), TARGET))
    baseline = median_error(victim)
    if isinstance(gram, NotIdentified):
        return _Measured(None, baseline, None, None, None, None, f"not identified: {gram.why}")
    true = victim.T @ victim
    gram_error = float(np.linalg.norm(gram.gram - true) / np.linalg.norm(true))
    return _inverted(played, victim, gram, gram_error, baseline, rng, seed)


def _inverted(
    played: Played,
    victim: FloatArray,
    gram: ColumnGram,
    gram_error: float,
    baseline: float,
    rng: np.random.Generator,
    seed: int,
) -> _Measured:
    """Known cells from the paper's number upwards, until one solution is left."""
    plan = plan_cells(victim.T, np.random.default_rng([seed, 3]), with_weights=False)
    n_solutions: int | None = None
    guess: Guess
    for n_extra in EXTRAS:
        knowledge = _transposed(plan.knowledge(VICTIM, victim.T, n_extra))
        view = played.view((ATTACKER,), TARGET, knowledge)
        began = time.process_time()
        guess = invert_columns(view, gram, rng)
        seconds = time.process_time() - began
        if n_extra == 0:
            found = guess.evidence["real solutions"]
            n_solutions = int(found) if isinstance(found, int) else None
        if guess.status is Status.RECOVERED:
            break
    kdr = len(knowledge.cells[0].values) / victim.size
    solved = guess.status is Status.RECOVERED
    error = relative_error(guess.values, victim, knowledge, VICTIM) if solved else None
    return _Measured(error, baseline, seconds, kdr, n_solutions, gram_error, guess.why)


def _transposed(knowledge: Knowledge) -> Knowledge:
    """Cells of X^T as cells of X."""
    return Knowledge(
        cells=tuple(KnownCells(known.owner, known.columns, known.ids, known.values) for known in knowledge.cells)
    )


def _run(case: HorizontalCase, shuffled: bool, seed: int) -> tuple[Played, FloatArray]:
    rng = np.random.default_rng([seed, case.features, case.victim_samples])
    table = paper_table(case.dataset, binary=False)
    assert table.values.shape[1] >= case.features
    chosen = rng.permutation(len(table.values))[: case.victim_samples + case.attacker_samples]
    rows, labels = table.values[chosen][:, : case.features], table.labels[chosen]
    cut = case.victim_samples
    names = table.columns[: case.features]
    parties = (
        Party(ATTACKER, Role.ACTIVE, names, Slice(np.arange(len(rows) - cut), rows[cut:], labels[cut:])),
        Party(VICTIM, Role.ACTIVE, names, Slice(np.arange(cut), rows[:cut], labels[:cut])),
        Party(SERVER, Role.SERVER, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0)))),
    )
    curvature = max(float(np.linalg.norm(part, 2) ** 2) / len(part) for part in (rows[cut:], rows[:cut]))
    settings = HorizontalLinearSettings(
        rounds=ROUNDS,
        batch_size=max(case.attacker_samples // 6, 2),
        shuffled=(ATTACKER,) if shuffled else (),
        learning_rate=0.5 / curvature,
    )
    federation = Federation(HorizontalLinear.name, parties, settings)
    return play(federation, Randomness.published(seed, "li2021/table4")), rows[:cut]


def _row(case: HorizontalCase, shuffled: bool, found: Sequence[_Measured]) -> Row:
    errors = [one.relative_error for one in found]
    summary = mean_max("relative_error", errors)
    return Row(
        setting={
            "dataset": case.dataset,
            "features": case.features,
            "victim_samples": case.victim_samples,
            "attacker_samples": case.attacker_samples,
            "attackers_batches": "shuffled" if shuffled else "all rows",
        },
        measured={
            **summary.figures,
            "cpu_seconds": mean([one.seconds for one in found]),
            "known_data_ratio": mean([one.kdr for one in found]),
            "solutions_with_papers_cells": mean([one.n_solutions for one in found]),
            "gram_error": mean([one.gram_error for one in found]),
            "inverted_runs": float(sum(error is not None for error in errors)),
        },
        paper={"relative_error": case.relative_error, "cpu_seconds": case.seconds, "known_data_ratio": case.kdr},
        baseline={"relative_error": mean([one.baseline_error for one in found])},
        note=" | ".join(dict.fromkeys(one.note for one in found)),
        bands=summary.bands,
    )
