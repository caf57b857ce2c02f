"""A view finds messages by step and records by name without reading the others."""

from __future__ import annotations

from weakref import ref

import numpy as np

from federations import run, sealed, seen, vertical
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.facts import Facts
from fedleak.core.payload import CipherArray, Scalar, digest
from fedleak.core.transcript import EVERYONE, OPENS, Message, Record, StoredMessages, StoredSequence, Transcript
from fedleak.core.view import View
from fedleak.core.whole.run import Run
from fedleak.core.whole.truth import Truth
from fedleak.protocols.linear import vocabulary as linear
from fedleak.storage import load_view, save_view

LABELS = Secret(SecretKind.LABELS, "bank")
FACTS = Facts("p", ())


def counted(items, key):
    """The items as a stored sequence, and a list of the positions that were read."""
    read: list[int] = []

    def one(position: int):
        read.append(position)
        return items[position]

    return StoredSequence(range(len(items)), [key(item) for item in items], one), read


def test_only_what_is_asked_for_is_read():
    kinds = [linear.BATCH if number % 10 == 0 else linear.PUBLIC_KEY for number in range(200)]
    messages, read = counted(
        [Message(step.name, n, "bank", "fintech", Scalar(n)) for n, step in enumerate(kinds)], lambda m: m.step
    )
    records, read_records = counted(
        [Record("s", n, "rare" if n == 7 else "common", Scalar(n)) for n in range(50)], lambda r: r.name
    )
    view = View(("fintech",), LABELS, Facts("p", ()), messages, {"fintech": records})
    assert [message.round for message in view.at(linear.BATCH)] == list(range(0, 200, 10))
    assert [message.round for message in view.at(linear.BATCH, receiver="bank")] == []
    assert set(read) == set(range(0, 200, 10))
    assert [record.round for record in view.records("rare")] == [7]
    assert list(view.records("none")) == []
    assert set(view.names("fintech")) == {"rare", "common"}
    assert read_records == [7]
    assert [message.round for message in messages[10:30]] == list(range(10, 30))


def test_a_loaded_view_finds_what_the_view_in_memory_does(tmp_path):
    result = run(vertical({"bank": 3, "fintech": 8}, sealed()))
    view = seen(result, ("fintech",), LABELS)
    save_view(view, tmp_path / "view")
    loaded = load_view(tmp_path / "view")
    for step in (linear.BATCH, linear.PUBLIC_KEY, linear.ENCRYPTED_LOSS):
        here, there = list(view.at(step)), list(loaded.at(step))
        assert [m.round for m in here] == [m.round for m in there]
        assert [digest(m.payload) for m in here] == [digest(m.payload) for m in there]
    assert any(True for _ in view.at(linear.BATCH))
    for name in ("gradient", "weights", "nothing"):
        assert [digest(r.value) for r in view.records(name)] == [digest(r.value) for r in loaded.records(name)]


def test_views_of_one_run_share_their_messages_and_differ_by_coalition():
    result = run(vertical({"bank": 3, "fintech": 8}, sealed()))
    first, second = (seen(result, ("fintech",), LABELS) for _ in range(2))
    assert first.messages is second.messages
    assert all(message.concerns(frozenset({"bank"})) for message in seen(result, ("bank",), LABELS).messages)


def stored_run(messages, records=None) -> tuple[Run, list[int]]:
    """A run whose messages lie in a store, and a list of the positions that were read."""
    read: list[int] = []

    def one(position: int) -> Message:
        read.append(position)
        return messages[position]

    routes, words = [message.route for message in messages], [message.step for message in messages]
    stored = StoredMessages(range(len(messages)), words, one, routes)
    return Run(Transcript(FACTS, stored), records or {}, Truth({})), read


def test_a_coalitions_messages_are_found_without_reading_any():
    ways = [("bank", "fintech"), ("bank", "shop"), ("shop", EVERYONE), ("shop", "bank")]
    kinds = [linear.BATCH, linear.PUBLIC_KEY]
    sent = [Message(kinds[n // 4 % 2].name, n, *ways[n % 4], Scalar(n)) for n in range(40)]
    result, read = stored_run(sent)
    view = result.view(("fintech",), LABELS, FACTS)
    assert len(view.messages) == 20
    assert read == []
    assert [message.round for message in view.at(linear.BATCH)] == [
        n for n in range(40) if n % 4 in (0, 2) and n % 8 < 4
    ]
    assert all(n % 8 < 4 for n in read)
    assert [message.round for message in view.messages] == [n for n in range(40) if n % 4 in (0, 2)]
    assert [message.round for message in view.messages[-2:]] == [36, 38]


def test_messages_are_not_kept_once_read():
    gone = [Message("s", n, "bank", "fintech", Scalar(n)) for n in range(9)]
    alive = [ref(message) for message in gone]
    result, _ = stored_run(gone)
    view = result.view(("fintech",), LABELS, FACTS)
    assert sum(message.payload.value for message in view.messages) == 36
    gone.clear()
    assert not any(message() for message in alive)


def test_what_a_key_opens_is_found_with_one_ciphertext_at_a_time():
    block = np.zeros((1, 4), dtype=np.uint8)
    sealed_ones = [CipherArray("key", "sealed", block + n, (1,), 8) for n in range(6)]
    sent = [Message("s", n, "bank", "fintech" if n % 2 else "shop", payload) for n, payload in enumerate(sealed_ones)]
    names = [*(OPENS + digest(payload) for payload in sealed_ones), "weights"]
    records, read_records = counted([Record("s", n, name, Scalar(n)) for n, name in enumerate(names)], lambda r: r.name)
    result, read = stored_run(sent, {"fintech": records})
    view, again = (result.view(("fintech",), LABELS, FACTS) for _ in range(2))
    assert read == [1, 3, 5]  # once, for all views of the coalition
    assert read_records == []
    assert [record.round for record in view.locals["fintech"]] == [1, 3, 5, 6]
    assert len(again.locals["fintech"]) == 4
