"""What the truth says of answers that the view proves."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from fedleak.core.finding import Score
from fedleak.trial.attempt import Attempt
from fedleak.trial.luck import is_perfect

# Where even the best guess from knowledge alone is perfect, a proved answer is no leak; elsewhere one of two is wrong.
CONTRADICTED = (
    "the view proves an answer that the truth contradicts: the truth, or what is declared of the run, is wrong"
)


class Proof(Enum):
    NONE = "there is none"
    CONFIRMED = "every cell that was told is right"
    REFUTED = "some are not"
    IDLE = "they are, and so is what a blind answer tells"

    @classmethod
    def of(cls, main: Score, scored: Sequence[Attempt]) -> Proof:
        """Of the runs whose view proves an answer: what the attack says of others is a claim like any other."""
        proved = [attempt for attempt in scored if attempt.guess.certificate]
        if not proved:
            return cls.NONE
        shares = [attempt.told_right for attempt in proved if attempt.told_right is not None]
        if not (min(shares) == 1.0 if shares else is_perfect(main)):
            return cls.REFUTED
        return cls.CONFIRMED if main.gain > 0 else cls.IDLE
