"""From attempts to a finding: does it leak, how badly, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.auditing.planner import Task
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Better, Exhibit, Finding, Outcome, Score, Severity, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.metrics import metrics_for
from fedleak.metrics.alignment import aligned, answers_of
from fedleak.metrics.cell_metrics import CellsRecovered, recovered_share

MAX_EXHIBIT_CELLS = 300


def judge(
    task: Task,
    defense: str | None,
    guess: Guess,
    truth: Truth,
    knowledge: Knowledge,
    seconds: float,
    rng: np.random.Generator,
) -> Finding:
    """A guess without a single value is not scored: that nothing can be said is a result of its own."""
    if guess.secret != task.target:
        raise ValueError(f"{task.attack.name} must answer about {task.target}; it answered about {guess.secret}")
    evidence = tuple((name, _shown(value)) for name, value in guess.evidence.items())
    silent = replace(unscored(task, defense, _outcome(guess.status, None), guess.why, seconds), evidence=evidence)
    if not np.isfinite(guess.values).any() or guess.status is Status.NOT_IDENTIFIABLE:
        return silent
    values = truth.of(guess.secret)
    served = truth.served_to(task.adversary.parties)
    found = [
        metric.score(guess, values, knowledge, up_to=task.attack.up_to, rng=rng, served=served)
        for metric in metrics_for(guess.secret.kind, task.attack.measured_by)
    ]
    scores = [score for score in found if score is not None]
    if not scores:
        return silent
    main = scores[0]
    outcome = _outcome(guess.status, main)
    return replace(
        silent,
        outcome=outcome,
        why=f"the guess does not beat the baseline ({guess.why})" if outcome is Outcome.NO_LEAK else guess.why,
        severity=severity(main, guess.secret.kind) if outcome is Outcome.LEAK else Severity.NONE,
        score=main,
        further_scores=tuple(scores[1:]),
        cells_recovered=_cells_recovered(guess, values, knowledge, task),
        evidence=evidence + ((("scored on", values.sampled),) if values.sampled else ()),
        exhibit=_exhibit(guess, values, task),
    )


def unscored(task: Task, defense: str | None, outcome: Outcome, why: str, seconds: float = 0.0) -> Finding:
    """A finding without figures: what is left to say of an attack that was skipped or failed."""
    return Finding(
        adversary=task.adversary.parties,
        mode=task.adversary.mode,
        attack=task.attack.name,
        secret=task.target,
        defense=defense,
        outcome=outcome,
        why=why,
        theory=Theory(task.prediction.verdict.value, task.prediction.reasons),
        seconds=seconds,
    )


def _outcome(status: Status, score: Score | None) -> Outcome:
    if status is Status.NOT_IDENTIFIABLE:
        return Outcome.NOT_IDENTIFIABLE
    if status is Status.UNDETERMINED or score is None:
        return Outcome.UNDETERMINED
    return Outcome.LEAK if score.beats_baseline else Outcome.NO_LEAK


def _cells_recovered(guess: Guess, values: SecretValues, knowledge: Knowledge, task: Task) -> float | None:
    kind = guess.secret.kind
    if kind not in CellsRecovered.applies_to or not CellsRecovered().suits(kind, values):
        return None
    return recovered_share(guess, values, knowledge, task.attack.up_to)


def _exhibit(guess: Guess, truth: SecretValues, task: Task) -> Exhibit:
    """Cells spread evenly over the secret: chosen by position, never by how well they were guessed."""
    cells = aligned(answers_of(guess, truth)[0], truth.values, task.attack.up_to)
    answered = np.flatnonzero(np.isfinite(cells))
    chosen = answered[np.linspace(0, len(answered) - 1, min(len(answered), MAX_EXHIBIT_CELLS)).astype(np.int64)]
    true: FloatArray = truth.values.ravel()[chosen]
    return Exhibit(true, cells.ravel()[chosen])


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


INTERMEDIATE = frozenset(
    {SecretKind.RESIDUALS, SecretKind.PARTIAL_SCORES, SecretKind.GRAM, SecretKind.WEIGHTS, SecretKind.COLUMN_PRODUCTS}
)


def severity(score: Score, kind: SecretKind) -> Severity:
    if not score.beats_baseline:
        return Severity.NONE
    perfect = 1.0 if score.better is Better.HIGHER else 0.0
    room = abs(perfect - score.baseline)
    share = score.gain / room if room > 0 else 0.0
    grade = Severity.HIGH if share >= 0.8 else Severity.MEDIUM if share >= 0.3 else Severity.LOW
    return min(grade, Severity.MEDIUM) if kind in INTERMEDIATE else grade
