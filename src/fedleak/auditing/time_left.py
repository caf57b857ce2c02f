"""The time that somebody gave an audit, and what attacks have of it in any case."""

from __future__ import annotations

import time

from fedleak.core.errors import TimeSpentError

TIME_SPENT = "the time that was given is spent"


class TimeLeft:
    def __init__(self, deadline: float | None, for_first_attacks: float) -> None:
        """As ``time.perf_counter`` counts, and in seconds; without a deadline there is time without end."""
        self._deadline = deadline
        self.for_first_attacks = for_first_attacks

    def seconds(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.perf_counter()
        if left <= 0:
            raise TimeSpentError(TIME_SPENT)
        return left

    def extended(self) -> bool:
        """Whether attacks on the first run had less than is theirs; now they have it."""
        least = time.perf_counter() + self.for_first_attacks
        if self._deadline is None or least <= self._deadline:
            return False
        self._deadline = least
        return True
