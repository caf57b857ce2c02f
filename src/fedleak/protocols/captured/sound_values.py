"""Numbers that no attack can work with, told in one line: when they are recorded, and when a capture from elsewhere is
opened.
"""

from __future__ import annotations

from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Payload, not_finite
from fedleak.core.steps import Phase
from fedleak.protocols import vocabularies
from fedleak.protocols.linear.vocabulary import BATCH


def released_steps() -> frozenset[str]:
    """Of predictions: a service that refuses a row releases no number for it."""
    return frozenset(step.name for words in vocabularies() for step in words.steps if step.phase is Phase.PREDICT)


def unsound_message(step: str, round_number: int, payload: Payload, released: frozenset[str]) -> str:
    """What is wrong with it; empty where nothing is."""
    if step == BATCH.name and isinstance(payload, Array) and payload.values.size == 0:
        return f"a message {step} must name at least one row; got none in round {round_number}"
    return "" if step in released else unsound(f"the payload of {step}", round_number, payload)


def unsound(what: str, round_number: int, payload: Payload) -> str:
    wrong = not_finite(payload)
    if not wrong:
        return ""
    return (
        f"{what} must hold finite numbers; got {wrong} in round {round_number}. A training that diverges has to be "
        "captured again, with a smaller learning rate"
    )


def refuse(wrong: str) -> None:
    if wrong:
        raise InputError(wrong)
