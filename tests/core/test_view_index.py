"""A view finds messages by step and records by name without reading the others."""

from __future__ import annotations

from federations import run, sealed, seen, vertical
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.facts import Facts
from fedleak.core.payload import Scalar, digest
from fedleak.core.transcript import Message, Record
from fedleak.core.view import View
from fedleak.protocols.linear import vocabulary as linear
from fedleak.storage import load_view, save_view
from fedleak.storage.folder_reader import StoredSequence

LABELS = Secret(SecretKind.LABELS, "bank")


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
