"""What was sent stays what it was, whatever its sender does with its arrays afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.arrays import freeze, settled
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, CipherArray, IntegerArray, ModelSpec, Scalar, Table, Tree, digest
from fedleak.core.transcript import Message, Record
from fedleak.core.whole.run import MemorySink

IDS = np.arange(4)


def payloads(values: np.ndarray, data: np.ndarray):
    return [
        Array(values),
        Table(("a", "b"), IDS, values),
        ModelSpec("linear", {}, {"w": values}),
        Tree({"inner": Tree({"leaf": Array(values)})}),
        CipherArray("key", "sealed", data, (4,), 0),
        IntegerArray(data, (4,)),
        Scalar(1.0),
    ]


@pytest.mark.parametrize("position", range(7))
def test_later_changes_in_place_do_not_reach_the_record(position):
    values, data = np.ones((4, 2)), np.ones((4, 3), dtype=np.uint8)
    payload = payloads(values, data)[position]
    before = digest(payload)
    sink = MemorySink()
    sink.message(Message("step", 0, "bank", "fintech", payload))
    sink.record("bank", Record("step", 0, "mine", payload))
    values[:], data[:] = 7, 7
    captured = sink.finish(Facts("p", ()))
    assert digest(captured.transcript.messages[0].payload) == before
    assert digest(captured.locals["bank"][0].value) == before


def test_only_memory_that_can_change_is_copied():
    own = np.arange(5)
    assert settled(freeze(own)).base is not own
    fixed = np.frombuffer(b"abcd", dtype=np.uint8)
    assert np.shares_memory(settled(fixed), fixed)
    own.flags.writeable = False
    assert np.shares_memory(settled(own[1:]), own)
    with pytest.raises(ValueError, match="read-only"):
        settled(np.arange(3))[0] = 1
