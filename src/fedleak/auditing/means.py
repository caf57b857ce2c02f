"""What an audit may take: cores, time, memory, and runs to decide on."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.auditing.runs_ahead import Standby
from fedleak.core.errors import InputError
from fedleak.trial.conversation import Limits
from fedleak.trial.play import NO_LIMITS

REPEATS = 5  # runs that a finding is decided on: under noise the luck of a single one can pass for a leak


@dataclass(frozen=True, eq=False)
class Means:
    """``jobs``: attempts side by side, by default as many as there are cores. ``isolated`` False runs attacks in the
    audit's own process, one after the other, for a debugger. ``repeats``: runs that each finding is decided on; all but
    the first use the ideal cipher, whose plaintexts are the same, and have some labels redrawn. ``limits`` are of each
    attempt. After the ``deadline``, as ``time.perf_counter`` counts, nothing begins and attempts are ended; attacks on
    the first run have ``for_first_attacks`` seconds all the same, since a report without one answer is worth nothing.
    ``standby``: processes that may train already.
    """

    repeats: int = 1
    jobs: int | None = None
    isolated: bool = True
    limits: Limits = NO_LIMITS
    deadline: float | None = None
    for_first_attacks: float = 0.0
    standby: Standby | None = None

    def check(self, *, replays: bool) -> None:
        if self.repeats < 1 or (self.repeats > 1 and replays):
            raise InputError(
                f"repeats must be at least 1, and 1 for a run that took place elsewhere; got {self.repeats}"
            )


ONE_RUN = Means()
