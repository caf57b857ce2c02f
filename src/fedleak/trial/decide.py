"""From attempts to a finding: does it leak, how badly, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status, Verdict
from fedleak.core.finding import Better, Claim, ColumnResult, Finding, Mode, Outcome, Score, Severity, Theory
from fedleak.core.whole.randomness import public_stream
from fedleak.metrics.row_tests import RowTest, chance_of_score
from fedleak.trial.attempt import Attempt, Failure
from fedleak.trial.canaries import Recovery, recovery, told_apart
from fedleak.trial.luck import Luck, luck_of
from fedleak.trial.proof import CONTRADICTED, Proof

# Means to an end: alone they are at most a medium leak.
INTERMEDIATE = frozenset(
    {SecretKind.RESIDUALS, SecretKind.PARTIAL_SCORES, SecretKind.GRAM, SecretKind.WEIGHTS, SecretKind.COLUMN_PRODUCTS}
)


@dataclass(frozen=True)
class Question:
    """Who tries what on whom, under which defense, and what theory said beforehand."""

    adversary: tuple[str, ...]
    mode: Mode
    attack: str
    secret: Secret
    defense: str | None
    theory: Theory
    one_run: bool = False  # somebody else's run: there is no other, and what is a matter of chance says so


def unanswered(question: Question, outcome: Outcome, why: str, seconds: float = 0.0) -> Finding:
    """A finding without figures: what is left to say of an attack that was skipped or failed."""
    return Finding(
        adversary=question.adversary,
        mode=question.mode,
        attack=question.attack,
        secret=question.secret,
        defense=question.defense,
        outcome=outcome,
        why=why,
        theory=question.theory,
        seconds=seconds,
    )


def decide(question: Question, attempts: Sequence[Attempt]) -> Finding:
    """One decision over the attempts of all runs. In which order they are told must not decide whether something
    leaks: the one that says most lends its words and its picture, figures are of all of them."""
    seconds = sum(attempt.seconds for attempt in attempts)
    answered = [attempt for attempt in attempts if isinstance(attempt.result, Guess)]
    failures = [attempt.result for attempt in attempts if isinstance(attempt.result, Failure)]
    if not answered:
        return unanswered(question, _untried(question, failures), failures[0].why, seconds)
    return _beside_failures(_of_answers(question, answered, len(attempts), seconds), failures, len(attempts))


def _untried(question: Question, failures: Sequence[Failure]) -> Outcome:
    """Where theory says that an attack wins once it has what it lacks, a question stays open."""
    if not all(failure.skipped for failure in failures):
        return Outcome.ERRORED
    return Outcome.UNDETERMINED if question.theory.verdict == Verdict.EXACT else Outcome.SKIPPED


def _beside_failures(found: Finding, failures: Sequence[Failure], n_runs: int) -> Finding:
    """An attack that fails in some runs found nothing in the others alone: what it would have found is not known."""
    broken = [failure for failure in failures if not failure.skipped]
    if not broken:
        return found
    told = f"it failed in {len(broken)} of {n_runs} runs: {broken[0].why}"
    if found.outcome is Outcome.LEAK:
        return replace(found, why=f"{found.why} ({told})" if found.why else told)
    return replace(found, outcome=Outcome.ERRORED, why=told)


def _of_answers(question: Question, answered: Sequence[Attempt], n_runs: int, seconds: float) -> Finding:
    first = min(answered, key=_silence)
    guess = first.guess
    silent = replace(
        unanswered(question, _unmeasured(guess.status), guess.why, seconds),
        evidence=tuple((name, _shown(value)) for name, value in guess.evidence.items()),
        claim=claim_of(guess),
        certificate=guess.certificate,
    )
    if first.unchecked:
        return _unchecked(silent, guess)
    scored = [attempt for attempt in answered if attempt.scores]
    one_run = question.one_run or n_runs == 1
    return _measured(silent, first, scored, one_run=one_run, replayed=question.one_run) if scored else silent


def _silence(attempt: Attempt) -> int:
    """Whose words stand for all runs: the first of those that say most. That nothing can be told takes all of them."""
    guess = attempt.guess
    if attempt.scores or attempt.unchecked:
        return 0 if guess.certificate else 2 if guess.status is Status.UNDETERMINED else 1
    return 4 if guess.status is Status.NOT_IDENTIFIABLE else 3


def _measured(silent: Finding, first: Attempt, scored: Sequence[Attempt], *, one_run: bool, replayed: bool) -> Finding:
    """What is said of rows whose labels were redrawn decides where there are any, and the others are told beside it."""
    guess, redrawn = first.guess, _on_canaries(scored)
    told = told_apart(_over_runs([attempt.scores[0] for attempt in scored]), redrawn)
    main, luck = told.deciding, luck_of([redrawn.tests] if redrawn else [_tests(one) for one in scored])
    proof = Proof.of(main, scored)
    if proof is Proof.REFUTED and not luck.is_none:
        return replace(silent, outcome=Outcome.ERRORED, why=CONTRADICTED, score=main)
    outcome = _outcome(scored, leaks=luck.is_none or proof is Proof.CONFIRMED)
    why = f"{told.no_leak} ({guess.why})" if outcome is Outcome.NO_LEAK else guess.why
    if proof is Proof.REFUTED:
        why = f"{guess.why}; {CONTRADICTED}"
    caveat = told.caveat(guess, one_run=one_run) or ("one run" if replayed else "")
    results = [redrawn.columns] if redrawn else [attempt.columns for attempt in scored]
    columns = _columns_over_runs(results, luck, proof)
    return replace(
        silent,
        outcome=outcome,
        why=f"{why} ({caveat})" if caveat and guess.status is not Status.RECOVERED else why,
        severity=_severity(main, columns, guess.secret.kind) if outcome is Outcome.LEAK else Severity.NONE,
        score=main,
        population=told.population,
        further_scores=redrawn.scores[1:] or _further_over_runs(first, scored),
        cells_recovered=_mean([attempt.cells_recovered for attempt in scored]),
        columns=columns,
        certificate="" if proof is Proof.REFUTED else silent.certificate,
        p_value=luck.p_value,
        evidence=silent.evidence + ((("scored on", first.sampled),) if first.sampled else ()),
        exhibit=first.exhibit,
    )


def _on_canaries(scored: Sequence[Attempt]) -> Recovery:
    parts = [attempt.canaries for attempt in scored if attempt.canaries is not None]
    return recovery(parts, first=scored[0].attack.measured_by, rng=public_stream(0, "canaries"))


def _tests(attempt: Attempt) -> tuple[RowTest, ...]:
    """Of an attempt that was scored elsewhere, by its score alone."""
    main = attempt.scores[0]
    return attempt.tests or (RowTest(None, main.metric, chance_of_score(main), main.gain),)


ONE_RUN = "one run, and nothing to hold it against"


def _unchecked(silent: Finding, guess: Guess) -> Finding:
    """What the attack claims. A proof in the view decides, on one run as on many; any other claim is a claim."""
    if guess.status is Status.UNDETERMINED:
        return silent
    if guess.certificate:
        return replace(silent, outcome=Outcome.UNCHECKED, severity=claimed_severity(guess.status, guess.secret.kind))
    return replace(silent, outcome=Outcome.UNCHECKED, why=f"{guess.why} ({ONE_RUN})" if guess.why else ONE_RUN)


def claimed_severity(status: Status, kind: SecretKind) -> Severity:
    """Of a claim that the view itself proves: without figures, only whether all was claimed or a part."""
    full = Severity.MEDIUM if kind in INTERMEDIATE else Severity.HIGH
    return full if status is Status.RECOVERED else Severity(full - 1)


def severity(score: Score, kind: SecretKind) -> Severity:
    """By the share of the way from the baseline to a perfect answer that the attack went: one rule for all secrets."""
    return graded(score.learnt, kind) if score.beats_baseline else Severity.NONE


def graded(share: float, kind: SecretKind) -> Severity:
    """What was found is at least a low leak; 16 of 20 rows are 0.8, not 0.7999999999999999."""
    share = round(share, 9)
    grade = Severity.HIGH if share >= 0.8 else Severity.MEDIUM if share >= 0.3 else Severity.LOW
    return min(grade, Severity.MEDIUM) if kind in INTERMEDIATE else grade


def _severity(main: Score, columns: Sequence[ColumnResult], kind: SecretKind) -> Severity:
    """Of a leak: as grave as the worst column that leaks; where none does by itself, as all of them together."""
    learnt = [column.learnt for column in columns if column.leaks and column.learnt is not None]
    return graded(max(learnt), kind) if learnt else max(Severity.LOW, severity(main, kind))


def _further_over_runs(first: Attempt, answered: Sequence[Attempt]) -> tuple[Score, ...]:
    """The other metrics of the run that is told, each over all runs that have it."""
    every = [score for attempt in answered for score in attempt.scores[1:]]
    return tuple(_over_runs([one for one in every if one.metric == told.metric]) for told in first.scores[1:])


def _over_runs(scores: Sequence[Score]) -> Score:
    """One run has the interval over its rows; several have their mean, with Student's interval of the gain, but no less
    than the rows leave open: runs that are alike have the same rows, and are no more certain for it."""
    if len(scores) == 1:
        return scores[0]
    from scipy.special import stdtrit

    value, gains = fmean(score.value for score in scores), [score.gain for score in scores]
    half = float(stdtrit(len(gains) - 1, 0.975)) * stdev(gains) / len(gains) ** 0.5
    baseline, n = fmean(score.baseline for score in scores), sum(score.n for score in scores)
    low = max(0.0, min(value - half, fmean(score.ci[0] for score in scores)))  # no metric is below 0
    high = max(value + half, fmean(score.ci[1] for score in scores))
    if scores[0].better is Better.HIGHER:
        high = min(high, 1.0)  # the best that such a metric can be
    gain_ci = _gain_over_runs(scores, fmean(gains), half)
    return replace(scores[0], value=value, baseline=baseline, ci=(low, high), n=n, gain_ci=gain_ci, p_value=None)


def _gain_over_runs(scores: Sequence[Score], gain: float, half: float) -> tuple[float, float] | None:
    paired = [score.gain_ci for score in scores if score.gain_ci is not None]
    if not paired:
        return None
    return min(gain - half, fmean(low for low, _ in paired)), max(gain + half, fmean(high for _, high in paired))


def claim_of(guess: Guess) -> Claim:
    """What the attack says of its answer, before anybody holds it against the truth."""
    told = np.isfinite(guess.values)
    stated = None if guess.confidence is None else guess.confidence[told]
    return Claim(
        guess.status.value, int(told.sum()), float(stated.mean()) if stated is not None and len(stated) else None
    )


def _columns_over_runs(runs: Sequence[Sequence[ColumnResult]], luck: Luck, proof: Proof) -> tuple[ColumnResult, ...]:
    """Of each column the mean of each figure, over the runs that have it, and whether it leaks."""
    found = [_mean_column(results, luck) for results in zip(*filter(None, runs), strict=True)]
    if proof is Proof.CONFIRMED and not luck.leaking:
        return tuple(replace(column, leaks=bool(column.learnt)) for column in found)
    return tuple(found)


def _mean_column(results: Sequence[ColumnResult], luck: Luck) -> ColumnResult:
    name = results[0].column
    return ColumnResult(
        name,
        sum(result.n for result in results),
        _mean([result.error for result in results]),
        _mean([result.baseline_error for result in results]),
        _mean([result.correlation for result in results]),
        _mean([result.cells_recovered for result in results]),
        _mean([result.learnt for result in results]),
        luck.columns.get(name),
        name in luck.leaking,
    )


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return fmean(known) if known else None


def _unmeasured(status: Status) -> Outcome:
    return Outcome.NOT_IDENTIFIABLE if status is Status.NOT_IDENTIFIABLE else Outcome.UNDETERMINED


def _outcome(scored: Sequence[Attempt], *, leaks: bool) -> Outcome:
    """What is beyond luck is a leak, whatever the attack thinks of its answer. That nothing was found counts where the
    attack came to its end in most runs."""
    if leaks:
        return Outcome.LEAK
    open_runs = sum(attempt.guess.status is Status.UNDETERMINED for attempt in scored)
    return Outcome.UNDETERMINED if 2 * open_runs >= len(scored) else Outcome.NO_LEAK


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
