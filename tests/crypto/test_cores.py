"""Shares of a computation on several cores: the same bytes, whatever becomes of who helps."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from fedleak.core.errors import CryptoError
from fedleak.crypto import cores as on_cores
from fedleak.crypto import paillier_cipher
from fedleak.crypto.cores import cores, shares, spread, using
from fedleak.crypto.paillier_cipher import PaillierPrivateKey


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paillier_cipher, "LEAST_ENCRYPTIONS", 8)
    monkeypatch.setattr(paillier_cipher, "LEAST_ADDITIONS", 16)


@pytest.mark.parametrize("n_running", [0, 4])
def test_sums_are_the_same_to_the_bit(paillier: PaillierPrivateKey, n_running: int) -> None:
    rng = np.random.default_rng(1)
    c = paillier.public.encrypt(list(range(64)), 0)
    groups = rng.integers(0, 5, (3, 64))
    alone = paillier.public.grouped_sum(c, groups, 5, n_running=n_running)
    with using(2):
        together = paillier.public.grouped_sum(c, groups, 5, n_running=n_running)
    assert together.data.tobytes() == alone.data.tobytes()
    plain = np.array([[sum(np.arange(64)[row == group]) for group in range(5)] for row in groups])
    plain[:, :n_running] = plain[:, :n_running].cumsum(axis=1)
    assert paillier.decrypt(together) == plain.ravel().tolist()


def test_helpers_encrypt_with_randomness_of_their_own(paillier: PaillierPrivateKey) -> None:
    with using(2):
        c = paillier.public.encrypt([7] * 64, 0)
        assert len(on_cores._helpers) == 1
    assert not on_cores._helpers
    assert paillier.decrypt(c) == [7] * 64
    assert len(np.unique(c.data, axis=0)) == 64


def test_results_are_in_the_order_of_the_parts() -> None:
    with using(2):
        assert spread(str, list(range(50))) == [str(number) for number in range(50)]


def test_what_a_helper_leaves_is_done_here(paillier: PaillierPrivateKey) -> None:
    with using(2):
        paillier.public.encrypt([7] * 64, 0)
        (helper,) = on_cores._helpers
        helper.kill()
        helper._process.wait()
        assert paillier.decrypt(paillier.public.encrypt([8] * 64, 0)) == [8] * 64
        assert on_cores._helpers != [helper]


def test_an_error_is_that_of_one_core(paillier: PaillierPrivateKey) -> None:
    c = paillier.public.encrypt(list(range(64)), 0)
    broken = np.array(c.data)
    broken[-1] = 0
    with using(2), pytest.raises(CryptoError, match="between 0 and n²"):
        paillier.public.grouped_sum(type(c)(c.key_id, c.scheme, broken, c.shape, 0), np.zeros((1, 64), np.int64), 1)


def test_what_work_raises_is_not_taken_for_the_end_of_it() -> None:
    with using(2), pytest.raises(IndexError, match="pop from empty"):
        spread(bytearray.pop, [bytearray(b"a"), bytearray(), bytearray(b"b"), bytearray(b"c")])


def test_while_helpers_are_busy_others_work_alone() -> None:
    with using(2):
        with on_cores._turn:
            assert spread(str, [1, 2, 3]) == ["1", "2", "3"]
        assert not on_cores._helpers


def test_shares_cover_everything_once() -> None:
    with using(3):
        parts = shares(1001, 10)
        assert len(parts) == 12
        assert [place for part in parts for place in range(1001)[part]] == list(range(1001))
        assert shares(50, 10) == [slice(0, 50)]  # less than two of ten a core
        assert shares(0, 10) == [slice(0, 0)]
    with using(1):
        assert shares(1001, 10) == [slice(0, 1001)]


@pytest.mark.parametrize(
    ("told", "expected"), [("1", 1), ("1,2", 1), ("100000", None), ("", None), ("x", None), ("0", None)]
)
def test_the_environment_bounds_cores(monkeypatch: pytest.MonkeyPatch, told: str, expected: int | None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert cores() == (expected or len(os.sched_getaffinity(0)))


def test_a_key_that_travels_leaves_its_table_behind(paillier: PaillierPrivateKey) -> None:
    paillier.public.prepare()
    stored = pickle.dumps(paillier.public)
    assert len(stored) < 1_000
    assert pickle.loads(stored).key_id == paillier.public.key_id  # noqa: S301  (our own bytes)


SCRIPT = "from fedleak.crypto.cores import spread, using\nwith using(2): print(spread(str, [1, 2, 3, 4]))"


def test_a_script_needs_no_guard() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("['1', '2', '3', '4']\n", "")


def _interrupted(part: int) -> int:
    if part == 0:
        raise KeyboardInterrupt
    return part


def test_ctrl_c_ends_helpers_too() -> None:
    with using(2):
        with pytest.raises(KeyboardInterrupt):
            spread(_interrupted, [0, 0, 0, 0])
        for helper in on_cores._helpers:
            helper._process.wait(timeout=10)
        assert spread(str, [1, 2]) == ["1", "2"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_fork_leaves_the_helpers_of_its_parent_alone() -> None:
    with using(2):
        spread(str, [1, 2, 3])
        child = os.fork()
        if child == 0:
            os._exit(len(on_cores._helpers))
        assert os.waitpid(child, 0)[1] == 0
        assert len(on_cores._helpers) == 1
