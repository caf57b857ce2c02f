"""What passes between parties, and what a party keeps."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.payload import Payload

EVERYONE = "*"  # the receiver of a public message


@dataclass(frozen=True, eq=False)
class Message:
    """One message on the wire. ``round`` counts the protocol's iterations; setup is round -1."""

    step: str
    round: int
    sender: str
    receiver: str
    payload: Payload

    def concerns(self, coalition: frozenset[str]) -> bool:
        return self.receiver == EVERYONE or self.sender in coalition or self.receiver in coalition


@dataclass(frozen=True, eq=False)
class Record:
    """Something that a party has or computed at a step: its data, a key, a mask, its gradient."""

    step: str
    round: int
    name: str
    value: Payload


SETUP_ROUND = -1
