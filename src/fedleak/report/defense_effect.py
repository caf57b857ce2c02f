"""What each defense changed: the leaks that are no longer found, and what that costs the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fedleak.core.defended import Fate, aim, appeared, fates
from fedleak.core.finding import Finding
from fedleak.core.report import Report
from fedleak.report.cases import worst_leak
from fedleak.report.model_beside_guess import UtilityChange, utility_change


@dataclass(frozen=True)
class Effect:
    """A leak is a question here: what one adversary learns of one secret, by whatever attack."""

    defense: str
    n_tried: int  # leaks of the undefended run that the defense was tried on
    n_stopped: int
    n_ruled_out: int  # by a theorem: the attacks have nothing to work on
    n_weakened: int  # still a leak, of lower severity
    n_unanswered: int  # an attack gave no answer under the defense: neither stopped nor left
    n_new: int  # leaks under the defense where there was none before
    utility: UtilityChange | None

    @property
    def n_left(self) -> int:
        return self.n_tried - self.n_stopped - self.n_ruled_out - self.n_weakened - self.n_unanswered

    @property
    def closes(self) -> bool:
        """Every leak, without a new one, and the model is worth something still."""
        useful = self.utility is None or not self.utility.worthless
        return self.n_tried > 0 and self.n_stopped + self.n_ruled_out == self.n_tried and not self.n_new and useful

    @property
    def helps(self) -> bool:
        return self.n_stopped + self.n_ruled_out + self.n_weakened > 0

    def words(self) -> str:
        """One sentence, without the defense's name, which comes before it."""
        parts = [self._leak_words()]
        if self.n_left and self.helps:
            parts.append(f"{self.n_left} {'stays' if self.n_left == 1 else 'stay'} as bad as before")
        if self.n_unanswered:
            parts.append(f"{self.n_unanswered} gave no answer, which is not a success")
        if self.n_new:
            parts.append(f"{self.n_new} appeared that had not been there before")
        if self.utility is not None:
            parts.append(self.utility.words())
        return "; ".join(parts)

    def _leak_words(self) -> str:
        if self.n_tried == 0:
            return "was not tried on any leak"
        verbs = [f"{verb} {number}" for verb, number in self._verbs() if number]
        if self.n_tried == 1:
            return f"{verbs[0].removesuffix(' 1') if verbs else 'does not stop'} the one leak that it was tried on"
        return f"{' and '.join(verbs) or 'stops none'} of the {self.n_tried} leaks that it was tried on"

    def _verbs(self) -> tuple[tuple[str, int], ...]:
        weakens = "weakens, but does not stop," if self.n_tried == 1 else "weakens"
        return (
            ("stops", self.n_stopped),
            ("leaves nothing to attack in", self.n_ruled_out),
            (weakens, self.n_weakened),
        )


def effects(report: Report) -> tuple[Effect, ...]:
    """One for each defense, in the order in which they appear."""
    return tuple(_effect(report, defense) for defense in defenses(report))


def best_effect(report: Report, worst: Finding) -> Effect | None:
    """The defense under which the worst leak's secret is no longer had and the model is still worth something, then the
    one that stops most leaks. None where no defense helps at all.
    """

    def merit(effect: Effect) -> tuple[bool, bool, int, int, float]:
        protects = fates(report.findings, effect.defense).get(aim(worst)) in {Fate.STOPPED, Fate.RULED_OUT}
        loss = 0.0 if effect.utility is None else effect.utility.loss
        useful = effect.utility is None or not effect.utility.worthless
        return protects, useful, effect.n_stopped + effect.n_ruled_out, effect.n_weakened, -loss

    return max((effect for effect in effects(report) if effect.helps), key=merit, default=None)


def remaining_leak(report: Report, defense: str, worst: Finding) -> Finding | None:
    """The gravest leak of the same secret to the same adversary that is left under a defense, by any attack."""
    return worst_leak(f for f in report.findings if f.defense == defense and aim(f) == aim(worst))


def defenses(report: Report) -> tuple[str, ...]:
    named = [finding.defense for finding in report.findings] + [run.defense for run in report.runs]
    return tuple(dict.fromkeys(name for name in named if name is not None))


def _effect(report: Report, defense: str) -> Effect:
    found = Counter(fates(report.findings, defense).values())
    return Effect(
        defense,
        n_tried=found.total(),
        n_stopped=found[Fate.STOPPED],
        n_ruled_out=found[Fate.RULED_OUT],
        n_weakened=found[Fate.WEAKENED],
        n_unanswered=found[Fate.UNANSWERED],
        n_new=appeared(report.findings, defense),
        utility=utility_change(report, defense),
    )
