"""What went over the wire in a run, with the facts that everybody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedleak.core.facts import Facts
from fedleak.core.message import Message


@dataclass(frozen=True, eq=False)
class Transcript:
    facts: Facts
    messages: Sequence[Message]
