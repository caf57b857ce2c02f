"""The words of a report: what attacks, secrets, outcomes and figures are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from fedleak.core.adversary import JOINT, Secret, SecretKind, members
from fedleak.core.conclusion import MEASURED
from fedleak.core.finding import Better, Claim, Finding, Mode, Outcome, Score, Severity
from fedleak.core.report import Report
from fedleak.report.numbers import AREA, MISSING, count, figure, is_share, metric_words, number, percent

MODE_MEANING = {
    Mode.PASSIVE: "A passive adversary follows the protocol and makes the most of what it gets.",
    Mode.ACTIVE: "An active adversary sends what it should not, where that is not noticed.",
}
WITHIN = "to within 1 % of their range"
RECOVERS_FROM = 0.9  # from this share on, we say "recovers"; below, "guesses right"
MAX_NAMED = 8  # columns in a line; the page and the JSON mark all
MOST_OWNERS = 5  # parties by name
PLAINLY = {  # of secrets whose own name says nothing to who has not read a paper
    SecretKind.FEATURES: "columns",
    SecretKind.RESIDUALS: "the model's errors",
    SecretKind.PARTIAL_SCORES: "sums of columns",
    SecretKind.GRAM: "likeness of records",
    SecretKind.THRESHOLDS: "cut points of columns",
    SecretKind.BINS: "bands around values",
    SecretKind.RANGES: "limits of values",
    SecretKind.COLUMN_PRODUCTS: "joint counts of entries",
}
ACCURACY = "label-accuracy"  # what a sentence says of labels; what decides stands among the figures


def joined(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def who(names: Sequence[str]) -> str:
    return joined(names) + (" together" if len(names) > 1 else "")


def possessive(secret: Secret) -> str:
    """``bank's labels``; ``the residuals``, which belong to the federation."""
    if len(members(secret.owner)) > MOST_OWNERS:
        return owned(secret)
    whose = "the" if secret.owner == JOINT else f"{secret.owner}'s"
    return f"{whose} {secret.kind.words}"


def owned(secret: Secret) -> str:
    """``labels of bank``; ``residuals``."""
    words = secret.kind.words
    return words if secret.owner == JOINT else f"{words} of {owner_words(secret)}"


def owned_plainly(secret: Secret) -> str:
    """``columns of bank``, for a table that is read first."""
    words = PLAINLY.get(secret.kind, secret.kind.words)
    return words if secret.owner == JOINT else f"{words} of {owner_words(secret)}"


def what_plainly(kind: SecretKind) -> str:
    """``likeness of records (inner products of rows)``."""
    plain = PLAINLY.get(kind)
    return kind.words if plain is None else f"{plain} ({kind.words})"


def owner_words(secret: Secret) -> str:
    """``clinic+lab``, whose records nobody tells apart; of many, how many they are."""
    if secret.owner == JOINT:
        return "the federation"
    owners = members(secret.owner)
    named = f"{len(owners)} parties together ({owners[0]} to {owners[-1]})"
    return named if len(owners) > MOST_OWNERS else secret.owner


def share_recovered(finding: Finding) -> float | None:
    """Which part of the secret the adversary has, where a figure says so."""
    score = _hit_score(finding)
    if finding.secret.kind is SecretKind.LABELS and score is not None:
        return score.value
    if finding.cells_recovered is not None and isfinite(finding.cells_recovered):
        return finding.cells_recovered
    return score.value if score is not None else None


def share_learned(finding: Finding) -> float | None:
    """The same where it says something: that 66 % of labels are right tells nothing where 95 % are alike."""
    score = _hit_score(finding)
    return None if score is not None and score.gain <= 0 else share_recovered(finding)


def part_recovered(finding: Finding) -> float | None:
    """The share that was computed, where the main figure counts more of what was filled in blindly beside it."""
    score, share = finding.score, finding.cells_recovered
    if score is None or not share or score.gain <= 0 or not _is_hit_rate(score):
        return None
    return share if finding.secret.kind is not SecretKind.LABELS and share < score.value / 2 else None


def beyond_luck_words(finding: Finding) -> str:
    """What shows a leak whose main figure is no better than a blind answer's: its values go with the true ones, or come
    nearer to them than luck explains. Empty where the figure says it itself."""
    if finding.score is None or finding.score.gain > 0:
        return ""
    told = [column for column in finding.columns if column.leaks and column.correlation is not None]
    if not told:
        return "nearer to the truth, row by row, than luck explains"
    best = max(told, key=lambda column: column.correlation or 0.0)
    return f"values that go with the true ones (correlation {number(best.correlation)} in {best.column})"


def _hit_score(finding: Finding) -> Score | None:
    """The share of hits: the accuracy of labels wherever it stands, or the main score if it is a share."""
    scores = (finding.score, *finding.further_scores) if finding.score is not None else ()
    accuracy = next((score for score in scores if score.metric == ACCURACY), None)
    return accuracy or (finding.score if finding.score is not None and _is_hit_rate(finding.score) else None)


def leak_sentence(finding: Finding) -> str:
    """What the adversary learns, without a full stop: ``fintech recovers 100 % of bank's labels``."""
    subject, secret = who(finding.adversary), possessive(finding.secret)
    plural = len(finding.adversary) > 1
    if finding.is_proved:
        of = f"{count(finding.claim.n_cells, 'cell')} of {secret}" if finding.claim else secret
        return f"{subject} {'recover' if plural else 'recovers'} {of}, proved by the transcript alone"
    share = share_learned(finding)
    if share is None and finding.score is not None and finding.score.metric == AREA:
        clause = f"{subject} {'tell' if plural else 'tells'} {secret} apart: {_pairs(finding.score)}"
    elif (part := part_recovered(finding)) is not None:
        clause = f"{subject} {'recover' if plural else 'recovers'} {percent(part)} of {secret} {WITHIN}"
    elif share is None or (share < 0.5 and finding.secret.kind is not SecretKind.LABELS):
        clause = f"{subject} {'narrow' if plural else 'narrows'} down {secret}"
        measured = beyond_luck_words(finding) or measured_words(finding)
        clause += f": {measured}" if measured else ""
    elif share >= RECOVERS_FROM:
        clause = f"{subject} {'recover' if plural else 'recovers'} {percent(share)} of {secret}{_beside(finding)}"
    else:
        clause = f"{subject} {'get' if plural else 'gets'} {percent(share)} of {secret} right{_beside(finding)}"
    if finding.mode is Mode.ACTIVE:
        clause += ", by deviating from the protocol"
    return clause + (f", in spite of {finding.defense}" if finding.defense else "")


def columns_words(finding: Finding) -> str:
    """Which of the owner's columns leak: ``leaking columns: age and income``; empty where none does by itself."""
    names = finding.leaking_columns
    if finding.outcome is not Outcome.LEAK or not names or len(finding.columns) < 2:
        return ""
    if len(names) == len(finding.columns):
        return f"all {len(names)} columns leak"
    more = len(names) - MAX_NAMED
    shown = [*names[:MAX_NAMED], f"{more} more"] if more > 0 else names
    return f"leaking {'column' if len(names) == 1 else 'columns'}: {joined(shown)}"


def _pairs(score: Score) -> str:
    """What an area under the ROC curve says."""
    right, blind = percent(score.value), percent(score.baseline)
    return f"of two rows with different labels, the right one is picked {right} of the time ({blind} by chance)"


def measured_words(finding: Finding) -> str:
    """``MSE 0.004, against 0.083 from prior knowledge alone``; empty where nothing was measured."""
    score, parts = finding.score, []
    if score is not None:
        parts.append(
            f"{metric_words(score.metric)} {figure(score.metric, score.value)}, "
            f"against {figure(score.metric, score.baseline)} from prior knowledge alone"
        )
    if finding.cells_recovered is not None and not scores_cells(finding):
        parts.append(f"{percent(finding.cells_recovered)} of the cells {WITHIN}")
    return "; ".join(parts)


def population_words(finding: Finding) -> str:
    """How well labels of ordinary rows were told, where what decides was measured on redrawn ones; or nothing."""
    score = finding.population
    if score is None:
        return ""
    told = f"{metric_words(score.metric)} {figure(score.metric, score.value)} on rows with their own labels"
    return f"{told}: what any useful model predicts counts there"


def ceiling_words(finding: Finding) -> str:
    """What theory allows any attack: ``any attack: at most 0.601``; or nothing."""
    ceiling = finding.ceiling
    return "" if ceiling is None else f"any attack: at most {figure(ceiling.metric, ceiling.value)}"


def budget_words(finding: Finding) -> str:
    """``epsilon 0.5 declared, at least 0.02 measured``; or nothing."""
    budget = finding.budget
    if budget is None:
        return ""
    return f"epsilon {number(budget.epsilon)} declared, at least {number(budget.measured_epsilon)} measured"


def unchecked_words(finding: Finding) -> str:
    """What an attack says of its answer where nothing checks it: ``claims: recovered, 160 cells``; or nothing."""
    claim = finding.claim if finding.outcome is Outcome.UNCHECKED else None
    return "" if claim is None else f"claims: {claim_words(claim)}"


def outcome_words(finding: Finding) -> str:
    if finding.outcome is Outcome.NO_LEAK and finding.predicts:
        return "predicts, no leak found"
    return "proved, unchecked" if finding.is_proved else OUTCOME_WORDS[finding.outcome]


def is_captured(report: Report) -> bool:
    """Whether the run took place elsewhere: then no scenario can be changed to try a defense."""
    settings = report.scenario.get("settings")
    return isinstance(settings, Mapping) and bool(settings.get("transcript"))


def scores_cells(finding: Finding) -> bool:
    """Whether the main score already is the share of cells recovered."""
    return finding.score is not None and finding.score.value == finding.cells_recovered and _is_hit_rate(finding.score)


def claim_words(claim: Claim) -> str:
    """``recovered, 1,138 cells, 92 % sure``."""
    sure = "" if claim.confidence is None else f", {percent(claim.confidence)} sure"
    return f"{claim.status.replace('_', ' ')}, {count(claim.n_cells, 'cell')}{sure}"


def left_out(names: Sequence[str]) -> str:
    """One line on the attacks that are made for other protocols; empty where there are none."""
    n_attacks = len(names)
    if not n_attacks:
        return ""
    subject = "1 attack is" if n_attacks == 1 else f"{n_attacks} attacks are"
    return f"{subject} made for other protocols and left out (see fedleak list attacks)."


def severity_words(finding: Finding) -> str:
    """A severity where the attack decided something: what did not is not harmless for that."""
    silent = finding.severity is Severity.NONE and finding.outcome not in MEASURED
    return MISSING if silent else finding.severity.label


def _is_hit_rate(score: Score) -> bool:
    return score.better is Better.HIGHER and is_share(score.metric)


def _beside(finding: Finding) -> str:
    """How near counts as recovered, and what the share is to be held against."""
    score, share = _hit_score(finding), share_recovered(finding)
    words = f" {WITHIN}" if share == finding.cells_recovered else ""
    if score is not None and share == score.value:
        words += f" ({figure(score.metric, score.baseline)} from prior knowledge alone)"
    return words


OUTCOME_WORDS = {
    Outcome.LEAK: "leak",
    Outcome.NO_LEAK: "no leak found",
    Outcome.NOT_IDENTIFIABLE: "several answers fit",  # not "identifiable": of people that word means more
    Outcome.UNDETERMINED: "undetermined",
    Outcome.UNCHECKED: "unchecked",
    Outcome.SKIPPED: "skipped",
    Outcome.ERRORED: "errored",
}
OUTCOME_MEANING = {
    Outcome.LEAK: "The attack did better than prior knowledge alone allows.",
    Outcome.NO_LEAK: "This attack did no better than prior knowledge alone; another one might.",
    Outcome.NOT_IDENTIFIABLE: "Several secrets fit what the adversary sees, so this attack cannot tell which is true.",
    Outcome.UNDETERMINED: "The attack ended without deciding, for want of budget or evidence.",
    Outcome.UNCHECKED: "The attack answered; there is no truth here to hold its answer against.",
    Outcome.SKIPPED: "The attack was not run: something that it needs was missing.",
    Outcome.ERRORED: "The attack failed while it ran.",
}


def reason_of(finding: Finding) -> str:
    """The finding's own reason, or else what its outcome means."""
    return finding.why or OUTCOME_MEANING[finding.outcome]
