"""A view goes through a connection whole, or not at all."""

from __future__ import annotations

import socket

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Scalar
from fedleak.core.transcript import Message, Route, StoredMessages
from fedleak.core.view import View
from fedleak.trial.wire import Wire

N_MESSAGES = 50
BLOCK = np.arange(1000.0)


def stored_view(payload_of) -> tuple[View, list[int]]:
    """A view of messages in a store, and a list of those that were read."""
    read: list[int] = []

    def one(number: int) -> Message:
        read.append(number)
        return Message("s", number, "bank", "shop", payload_of(number))

    ways = [Route("bank", "shop")] * N_MESSAGES
    messages = StoredMessages(range(N_MESSAGES), ["s"] * N_MESSAGES, one, ways)
    return View(("shop",), Secret(SecretKind.LABELS, "bank"), Facts("p", ()), messages, {}), read


def sent(view: View, most_bytes: int) -> tuple[bool, View | None]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5.0)
        if not Wire(ours).send_view(view, most_bytes):
            ours.close()
            assert theirs.recv(1) == b""  # nothing was sent
            return False, None
        _, frame = Wire(theirs).receive()
        return True, Wire(theirs).received_view(frame)


def test_a_stored_view_arrives_as_its_messages():
    view, read = stored_view(lambda number: Array(BLOCK[:3] + number))
    went, arrived = sent(view, 1 << 20)
    assert went
    assert read == list(range(N_MESSAGES))
    assert arrived is not None
    assert [message.payload.values[0] for message in arrived.messages] == list(range(N_MESSAGES))


def test_a_view_that_is_too_large_is_given_up_with_the_rest_unread():
    view, read = stored_view(lambda number: Array(BLOCK + number))
    assert sent(view, 5 * BLOCK.nbytes) == (False, None)
    assert read == list(range(6))


def test_what_is_no_array_counts_too():
    view, read = stored_view(lambda number: Scalar(str(number) * 200_000))
    assert sent(view, 1_000_000) == (False, None)
    assert len(read) < N_MESSAGES / 2
