"""What an attack reads of a view: every message and record notes when its content is looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from harness import ATTACK_NAMES, situation

from fedleak.attacks import ATTACKS
from fedleak.core.transcript import Message, Record
from fedleak.core.view import View


def noting(view: View, notes: set[str]) -> View:
    """The same view; ``notes`` gets the step of each message and the name of each record that is read."""

    class NotedMessage(Message):
        def __getattribute__(self, name: str) -> Any:
            if name == "payload":
                notes.add(object.__getattribute__(self, "step"))
            return object.__getattribute__(self, name)

    class NotedRecord(Record):
        def __getattribute__(self, name: str) -> Any:
            if name == "value":
                notes.add(object.__getattribute__(self, "name"))
            return object.__getattribute__(self, name)

    messages = tuple(NotedMessage(m.step, m.round, m.sender, m.receiver, m.payload) for m in view.messages)
    locals_ = {
        party: tuple(NotedRecord(r.step, r.round, r.name, r.value) for r in records)
        for party, records in view.locals.items()
    }
    return replace(view, messages=messages, locals=locals_)


def controls_of(attack: str) -> list[str]:
    return [name for name in ATTACK_NAMES if ATTACKS.get(name).name == attack]


def read_by(attack: str) -> set[str]:
    """Steps and names of records, over all controls of the attack."""
    notes: set[str] = set()
    for name in controls_of(attack):
        case = situation(name)
        case.task.attack().run(noting(case.view(), notes), rng=np.random.default_rng(0))
    return notes
