"""What every attack has to pass, ours and those of others. Each check raises ``AssertionError`` with what to change.

A check is given the situations of the attack, ``cases(seed=…, other_secrets=…)``: runs of one small scenario.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Protocol

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Prediction, faults_of_attack
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.finding import Better, Mode, Outcome, Score, Theory
from fedleak.core.steps import Role
from fedleak.storage.view_and_guess import guess_from_bytes, guess_to_bytes
from fedleak.testing.situations import Situation
from fedleak.testing.surroundings import Surroundings
from fedleak.trial.attempt import Attempt
from fedleak.trial.decide import Question, decide
from fedleak.trial.wire import described

NOTHING_KNOWN = Facts("unknown", (PartyFacts("bank", Role.ACTIVE), PartyFacts("fintech", Role.PASSIVE)))
NULL_SEEDS = range(6)
WINS_FROM = 0.8  # of the way from the baseline to a perfect answer


class Cases(Protocol):
    def __call__(self, *, seed: int = 0, other_secrets: bool = False) -> Situation: ...


def check_metadata(attack: type[Attack]) -> None:
    faults = faults_of_attack(attack)
    assert not faults, f"{attack.__qualname__}: {'; '.join(faults)}"
    kebab = attack.name.lower().replace(" ", "-").replace("_", "-")
    assert attack.name == kebab, f"name must be in kebab-case, such as {kebab!r}; got {attack.name!r}"
    assert attack.summary.strip(), f"{attack.name}: summary must be one line for lists; got an empty one"
    prediction = attack.predict(NOTHING_KNOWN.seen_by(("fintech",), None))
    assert isinstance(prediction, Prediction), f"{attack.name}: predict must return a Prediction; got {prediction!r}"
    assert prediction.reasons, f"{attack.name}: a prediction must give its reasons; got none"


def check_pickles(attack: type[Attack]) -> None:
    """An attempt is told which attack to run by its class and parameters."""
    assert pickle.loads(pickle.dumps(attack)) is attack, "the class must be found again by its name"  # noqa: S301
    described(attack())


def check_format(cases: Cases) -> None:
    """The guess outlives the file format, to the byte, and is about what the view is about."""
    case = cases()
    guess = case.attempt().guess
    assert guess.secret == case.task.target, f"the guess must be about {case.task.target}; got {guess.secret}"
    assert len(guess.ids) == len(np.unique(guess.ids, axis=0)), "ids must name each row once"
    written = guess_to_bytes(guess)
    assert guess_to_bytes(guess_from_bytes(written)) == written, "the guess must survive the file format"


def check_deterministic(cases: Cases) -> None:
    """One view and one generator give one answer: nothing else is drawn from, no clock is asked."""
    case = cases()
    first, second = (guess_to_bytes(case.attempt(seed=0).guess) for _ in range(2))
    assert first == second, "two attempts with the same view and rng must be equal; draw from rng alone"


def swapped(
    attack: type[Attack], cases: Cases, here: Surroundings, elsewhere: Surroundings
) -> tuple[bytes, bytes, bytes]:
    """View of run A amid A's data; the same view amid B's data; view of run B amid B's data."""
    first, second = cases(), cases(other_secrets=True)
    return (
        here.guess(attack, first, first.played.federation),
        elsewhere.guess(attack, first, second.played.federation),
        elsewhere.guess(attack, second, second.played.federation),
    )


def check_swap(attack: type[Attack], cases: Cases, here: Surroundings, elsewhere: Surroundings) -> None:
    """The guess depends on the view and on nothing else."""
    with_a, with_b, of_b = swapped(attack, cases, here, elsewhere)
    assert with_a == with_b, "the guess must not depend on whose data lie about"
    beside = guess_to_bytes(cases().attempt(isolated=False).guess)
    assert with_a == beside, "the guess must be the same beside the whole run as in a process of its own"
    assert of_b != with_a, "the guess must depend on the view: an attack that ignores it would pass otherwise"


def null_gains(
    cases: Cases,
    attack: type[Attack] | None = None,
    *,
    before: Callable[[Situation], None] = lambda real: None,
    isolated: bool = True,
) -> FloatArray:
    """Per seed: how far above the baseline the guess from another secret's view scores."""
    gains = []
    for seed in NULL_SEEDS:
        real = cases(seed=seed)
        before(real)
        independent = cases(seed=seed, other_secrets=True).judged_by(real)
        score = deciding_score(independent.attempt(attack, seed=seed, isolated=isolated))
        gains.append(0.0 if score is None else score.gain)
    return np.array(gains)


def significantly_positive(gains: FloatArray) -> bool:
    """One-sided, at three standard errors; a gain below one point in a hundred is no finding."""
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return bool(gains.mean() > 0.01 and gains.mean() > 3 * error)


def check_null(cases: Cases) -> None:
    """On a view that is independent of the secret, it does not beat the baseline."""
    gains = null_gains(cases)
    assert not significantly_positive(gains), f"it must not score on views of other secrets; it gains {gains}"


def share_of_the_way(case: Situation, attack: type[Attack] | None = None) -> float:
    """0 at the baseline, 1 at a perfect answer."""
    return _share(case.attempt(attack))


def _share(attempt: Attempt) -> float:
    score = deciding_score(attempt)
    assert score is not None, "an attack must give an answer in its control; it gave none"
    perfect = 1.0 if score.better is Better.HIGHER else 0.0
    return round(score.gain / abs(perfect - score.baseline), 9)  # 16 of 20 rows are 0.8, not 0.7999999999999999


def check_control(cases: Cases) -> None:
    """It wins the tiny case that it provably wins, and an audit calls that a leak."""
    attempt = cases().attempt(None)
    share = _share(attempt)
    assert share >= WINS_FROM, f"it must go {WINS_FROM:.0%} of the way to a perfect answer in its control; {share:.1%}"
    finding = decide(question_of(attempt), [attempt])
    assert finding.outcome is Outcome.LEAK, f"its control must be a leak; it is {finding.in_words()}"


def question_of(attempt: Attempt) -> Question:
    return Question(attempt.coalition, Mode.PASSIVE, attempt.attack.name, attempt.target, None, Theory("unknown", ()))


def deciding_score(attempt: Attempt) -> Score | None:
    """None where the attack, rightly or wrongly, says nothing."""
    attempt.guess  # noqa: B018  (raises where there is none)
    return attempt.scores[0] if attempt.scores else None
