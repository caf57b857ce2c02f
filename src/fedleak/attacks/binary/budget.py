"""How much work a search may do before it has to say "undetermined"."""

from __future__ import annotations

import time
from dataclasses import dataclass


class OutOfBudgetError(Exception):
    """A search reached its limit; what it has is incomplete."""


@dataclass
class Budget:
    """CPU seconds and search nodes. Nodes make the outcome of small searches the same on every machine.

    The clock starts with the first node: a table that needs no search never looks at it.
    """

    seconds: float = 10.0
    nodes: int = 2_000_000
    _until: float | None = None

    def spend(self, nodes: int = 1) -> None:
        self.nodes -= nodes
        if self.nodes < 0 or self.remaining <= 0:
            raise OutOfBudgetError

    @property
    def remaining(self) -> float:
        """CPU seconds that are left."""
        now = time.process_time()
        if self._until is None:
            self._until = now + self.seconds
        return max(self._until - now, 0.0)

    def share(self, part: float) -> Budget:
        """A budget of its own for a part of the work."""
        return Budget(part * self.remaining, int(part * self.nodes))
