"""What the advisor says, as values: a change, what it breaks, the leak that stays, and what it costs the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fedleak.advising.measured import Measured, learnt
from fedleak.advising.worth import Worth
from fedleak.auditing.scenario import Scenario
from fedleak.core.defended import Aim
from fedleak.core.finding import Finding
from fedleak.report.numbers import figure, metric_words
from fedleak.report.wording import owned

NOTHING_TO_TRY = (
    "No attack has anything to work on there any more; an audit of it alone says so, and not that it is safe"
)


@dataclass(frozen=True)
class Change:
    """``edit``: lines of TOML for the scenario's file. ``ideal``: which of them exist as ideal functionality alone."""

    keys: tuple[str, ...]
    edit: str
    scenario: Scenario | None  # None where advice was read back from a file
    ideal: tuple[str, ...] = ()
    further_parties: tuple[str, ...] = ()  # that there are not yet


@dataclass(frozen=True)
class LeakLeft:
    adversary: tuple[str, ...]
    secret: str
    attack: str
    severity: str
    learnt: float  # from a blind answer to the secret, 0 to 1
    metric: str | None
    value: float | None
    baseline: float | None

    def words(self) -> str:
        measured = "" if self.metric is None else f": {metric_words(self.metric)} {figure(self.metric, self.value)}"
        blind = "" if self.metric is None else f" ({figure(self.metric, self.baseline)} blindly)"
        return f"{' + '.join(self.adversary)} learns {self.secret} by {self.attack}, {self.severity}{measured}{blind}"


@dataclass(frozen=True)
class Cost:
    """The model with the change, and without it."""

    before: Worth | None
    after: Worth | None

    @property
    def loss(self) -> float | None:
        """In parts of the metric; below 0 where the model got better."""
        if self.before is None or self.after is None or self.before.metric != self.after.metric:
            return None
        return self.before.value - self.after.value

    @property
    def worthless(self) -> str:
        """What the model is no better than, where it was better before the change."""
        return self.after.worthless if self.after and not (self.before and self.before.worthless) else ""

    def words(self) -> str:
        if self.after is None:
            return "what it costs the model was not measured"
        if self.before is None or self.before.metric != self.after.metric:
            return self.after.words()
        told = f"{self.after.words()}, {figure(self.before.metric, self.before.value)} without the change"
        return f"{told}; the model is {self.after.worthless}" if self.after.worthless else told


@dataclass(frozen=True)
class Remedy:
    """``confirmed``: an audit under a fresh key, with the usual number of runs, says the same; figures are its own."""

    change: Change
    breaks: tuple[str, ...]  # what nobody learns any more that somebody did
    leak_left: tuple[LeakLeft, ...]
    unanswered: tuple[str, ...]  # questions that no attack answered, which is no success
    cost: Cost
    confirmed: bool = False
    not_measured: tuple[str, ...] = ()  # of what it breaks: no attack could be tried any more

    @property
    def closes(self) -> bool:
        """Only what was confirmed is ever called closing."""
        return self.confirmed and not self.leak_left and not self.unanswered

    @property
    def leak(self) -> float:
        return max([1.0] * bool(self.unanswered) + [left.learnt for left in self.leak_left], default=0.0)

    def lines(self) -> Iterator[str]:
        """What is said below the edit."""
        if self.closes:
            yield "closes every leak that was found; confirmed by an audit under a fresh key"
            if self.not_measured:
                yield f"by argument, not by measurement: {', '.join(self.not_measured)}. {NOTHING_TO_TRY}"
        elif self.leak_left or self.unanswered:
            done = f"breaks {len(self.breaks)}: {', '.join(self.breaks)}" if self.breaks else "lowers what leaks"
            yield f"does not close everything; {done}"
            yield from (f"stays: {left.words()}" for left in self.leak_left)
            yield from (f"not answered: {question}" for question in self.unanswered)
        else:
            yield "no leak was seen, but that was not confirmed by a second audit: do not rely on it yet"
        yield f"model: {self.cost.words()}"
        if self.change.further_parties:
            named = ", ".join(self.change.further_parties)
            yield f"needs partners that there are not yet, each with rows of its own and on nobody's side: {named}"
        for choice in self.change.ideal:
            yield f"{choice} is an ideal functionality here: the protocol that would do it is not run"

    def to_json(self) -> dict[str, object]:
        return {
            "edit": self.change.edit,
            "changes": list(self.change.keys),
            "ideal_functionality": list(self.change.ideal),
            "further_parties": list(self.change.further_parties),
            "breaks": list(self.breaks),
            "leak_left": [vars(left) | {"adversary": list(left.adversary)} for left in self.leak_left],
            "unanswered": list(self.unanswered),
            "not_measured": list(self.not_measured),
            "leak": self.leak,
            "closes": self.closes,
            "confirmed": self.confirmed,
            "usefulness": None if self.cost.after is None else vars(self.cost.after),
            "usefulness_before": None if self.cost.before is None else vars(self.cost.before),
            "loss": self.cost.loss,
        }


def remedy_of(change: Change, found: Measured, before: Worth | None, *, confirmed: bool) -> Remedy:
    return Remedy(
        change,
        tuple(question_words(question) for question in found.closed),
        tuple(_left(finding) for finding in found.left),
        tuple(question_words(question) for question in found.open),
        Cost(before, found.worth),
        confirmed,
        tuple(question_words(question) for question in found.unmeasured),
    )


def question_words(question: Aim) -> str:
    adversary, mode, secret = question
    return f"{owned(secret)} to {' + '.join(adversary)} ({mode.value})"


def _left(finding: Finding) -> LeakLeft:
    score = finding.score
    return LeakLeft(
        finding.adversary,
        owned(finding.secret),
        finding.attack,
        finding.severity.label,
        learnt(finding),
        None if score is None else score.metric,
        None if score is None else score.value,
        None if score is None else score.baseline,
    )
