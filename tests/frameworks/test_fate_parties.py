"""Parties of FATE without FATE: what is done where one fails, and with what they push."""

from __future__ import annotations

from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest

from fedleak.frameworks.fate.fate_parties import gathered
from fedleak.frameworks.fate.fate_steps import Pushed

ALIVE, DEAD = SimpleNamespace(exitcode=None), SimpleNamespace(exitcode=-9)


def told(*messages):
    found = Queue()
    for message in messages:
        found.put(message)
    return found


def test_everything_is_gathered_until_all_parties_are_done():
    push = Pushed(0.0, "bank", "fintech", "half_d", "default", 1)
    messages = [("kept", {"bank": np.ones(2)}), ("pushed", push), *3 * [("done", None)]]
    pushed, first = gathered(told(*messages), [ALIVE] * 3)
    assert pushed == [push]
    assert first["bank"].tolist() == [1.0, 1.0]


def test_a_party_that_fails_is_told_in_its_own_words():
    """The others would wait for it for ever."""
    with pytest.raises(RuntimeError, match="host: ValueError: no such column"):
        gathered(told(("done", None), ("failed", "host: ValueError: no such column")), [ALIVE] * 3)


def test_a_party_that_is_killed_is_told():
    with pytest.raises(RuntimeError, match="a party of the training ended with exit code -9"):
        gathered(told(("done", None)), [ALIVE, DEAD, ALIVE])
