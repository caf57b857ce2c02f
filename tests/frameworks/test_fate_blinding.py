"""What is changed in FATE for a capture with the random factor, tried on stand-ins for its tensors."""

from __future__ import annotations

from copy import deepcopy

import pytest

from fedleak.frameworks.fate.fate_blinding import Blinding, passing_on


class Encryptor:
    """Says of everything that it encrypts whether the factor was asked for; FATE's forgets it for partitions."""

    def encrypt_encoded(self, tensor, obfuscate=False):
        if hasattr(tensor, "shardings"):
            return tensor.encrypt_encoded(self)
        return tensor, obfuscate


class Spread:
    """In partitions, each of which is encrypted in a process of its own."""

    shardings = ("first", "second")

    def encrypt_encoded(self, encryptor):
        there = deepcopy(encryptor)
        return [there.encrypt_encoded(part) for part in self.shardings]


@pytest.fixture
def changed(monkeypatch):
    monkeypatch.setattr(Encryptor, "encrypt_encoded", passing_on(Encryptor.encrypt_encoded))
    return Encryptor()


def test_the_argument_is_lost_as_it_is():
    assert Encryptor().encrypt_encoded(Spread(), True) == [("first", False), ("second", False)]


@pytest.mark.parametrize("asked", [True, False])
def test_what_is_asked_for_is_asked_of_each_partition(changed, asked):
    assert changed.encrypt_encoded(Spread(), asked) == [("first", asked), ("second", asked)]


@pytest.mark.parametrize("asked", [True, False])
def test_what_is_in_one_piece_goes_its_own_way(changed, asked):
    assert changed.encrypt_encoded("whole", asked) == ("whole", asked)


def test_each_partition_is_asked_where_fate_is_as_it_was():
    assert Blinding(Encryptor()).encrypt_encoded("part") == ("part", True)
