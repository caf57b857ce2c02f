"""Random factors made ahead: each used once, whoever made it, and none missed when a helper goes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from fedleak.crypto import blinding_stock, paillier_cipher
from fedleak.crypto import cores as on_cores
from fedleak.crypto.blinding_stock import BlindingStock
from fedleak.crypto.cores import dismiss, using
from fedleak.crypto.paillier_cipher import PaillierPrivateKey

COUNT = 8


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(paillier_cipher, "STOCKED_FROM_BITS", 0)
    monkeypatch.setattr(blinding_stock, "BEFORE_HELP", COUNT)
    monkeypatch.setattr(blinding_stock, "AHEAD", 2 * COUNT)
    with using(2):
        yield


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "the helper must answer"
        time.sleep(0.005)


def stocked(key: PaillierPrivateKey) -> BlindingStock:
    """A stock that waits to be fetched from its helper."""
    stock = BlindingStock(key.public.blindings)
    for _ in range(2):
        assert len(stock.take(COUNT)) == COUNT
    helper = stock._helper
    assert helper is not None
    until(lambda: helper.answered)
    return stock


def test_factors_of_the_helper_are_used_once_each(paillier: PaillierPrivateKey) -> None:
    stock = stocked(paillier)
    made_here = stock._made_here
    taken = [stock.take(COUNT) for _ in range(2)]
    assert stock._made_here == made_here, "both were ready"
    assert len({factor for some in taken for factor in some}) == 2 * COUNT


def test_ciphertexts_open_and_differ(paillier: PaillierPrivateKey) -> None:
    paillier.public._stock = stocked(paillier)  # type: ignore[misc]
    c = paillier.public.encrypt([7] * 40, 0)
    again = paillier.public.rerandomise(c)
    assert paillier.decrypt(c) == paillier.decrypt(again) == [7] * 40
    assert len(np.unique(np.concatenate([c.data, again.data]), axis=0)) == 80


def test_a_helper_that_has_gone_is_missed_by_nobody(paillier: PaillierPrivateKey) -> None:
    stock = stocked(paillier)
    assert stock._helper is not None
    stock._helper.kill()
    stock._helper._process.wait()
    assert len(stock.take(3 * COUNT)) == 3 * COUNT
    assert stock._helper.alive, "another one"
    dismiss()
    assert not on_cores._hired
    assert len(stock.take(COUNT)) == COUNT


def test_a_fork_does_not_use_what_its_parent_will_use(paillier: PaillierPrivateKey) -> None:
    stock = stocked(paillier)
    stock.take(1)
    theirs, ours = os.pipe()
    child = os.fork()
    if not child:
        os.write(ours, str(stock.take(1)).encode())
        dismiss()
        os._exit(0)
    os.close(ours)
    with os.fdopen(theirs) as told:
        of_the_child = told.read()
    assert os.waitpid(child, 0)[1] == 0
    assert of_the_child
    assert of_the_child not in {str([factor]) for factor in stock._ready}


def test_one_core_asks_nobody(paillier: PaillierPrivateKey) -> None:
    stock = BlindingStock(paillier.public.blindings)
    with using(1):
        for _ in range(3):
            assert len(stock.take(COUNT)) == COUNT
    assert stock._helper is None
