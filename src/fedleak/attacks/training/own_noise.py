"""Noise that a coalition itself put on the scores it shared: it knows it, and takes it off where it comes back.

Where an arbiter opens gradients, one residual serves all, so that a party's own noise is in its own gradient. Without
an arbiter a party uses its own exact scores, and finds only other members' noise. The victim trains with all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.payload import Array
from fedleak.core.steps import Role
from fedleak.core.view import View


class OwnNoise:
    """What the members' noise adds to residuals. None where residuals are not linear in the scores."""

    def __init__(self, view: View) -> None:
        slope = view.facts.options.get("residual_slope")
        self._slope = float(slope) if isinstance(slope, int | float) else 0.0
        self._members = view.coalition
        self._through_arbiter = any(party.role is Role.ARBITER for party in view.facts.parties)
        self._noise = {
            (member, record.round): np.asarray(record.value.values, dtype=np.float64)
            for member in view.coalition
            for record in view.records("noise", member)
            if isinstance(record.value, Array)
        }

    def on_scores(self, member: str, round_number: int) -> FloatArray | float:
        """What the member added to the scores it sent, a value a row of the batch."""
        return self._noise.get((member, round_number), 0.0)

    def in_gradient_of(self, member: str, round_number: int) -> FloatArray | float:
        """The part of the residual in a member's own gradient that is noise of the coalition's own."""
        return self._added((one for one in self._members if self._through_arbiter or one != member), round_number)

    def in_training(self, round_number: int) -> FloatArray | float:
        """The part of the residual with which parties outside the coalition train."""
        return self._added(self._members, round_number)

    def _added(self, members: Iterable[str], round_number: int) -> FloatArray | float:
        total: FloatArray | float = 0.0
        for member in members:
            total = total + self._slope * self.on_scores(member, round_number)
        return total
