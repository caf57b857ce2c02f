"""How much work a search may do before it has to say "undetermined"."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


class OutOfBudgetError(Exception):
    """A search reached its limit; what it has is incomplete."""


@dataclass
class Budget:
    """CPU seconds and search nodes. Nodes make the outcome of small searches the same on every machine."""

    seconds: float = 10.0
    nodes: int = 2_000_000
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = time.process_time() + self.seconds

    def spend(self, nodes: int = 1) -> None:
        self.nodes -= nodes
        if self.nodes < 0 or time.process_time() > self._until:
            raise OutOfBudgetError

    @property
    def remaining(self) -> float:
        """CPU seconds that are left."""
        return max(self._until - time.process_time(), 0.0)

    def share(self, part: float) -> Budget:
        """A budget of its own for a part of the work."""
        return Budget(part * self.remaining, int(part * self.nodes))
