"""A process whose address space is bounded from outside says so before it begins."""

from __future__ import annotations

import resource

import pytest

from fedleak.core.errors import InputError
from fedleak.trial import blas_memory


def bounded(monkeypatch, n_bytes: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (n_bytes, n_bytes))


def test_too_small_an_address_space_is_refused_in_one_line(monkeypatch):
    bounded(monkeypatch, 300 << 20)
    with pytest.raises(InputError, match=r"at least 524288 KiB; got 307200\. Raise it with: ulimit -v"):
        blas_memory.settle_blas_memory()


def test_what_linear_algebra_needs_is_taken_under_a_bound_alone(monkeypatch):
    taken = []
    monkeypatch.setattr(blas_memory, "take_blas_memory", lambda: taken.append(True))
    bounded(monkeypatch, resource.RLIM_INFINITY)
    blas_memory.settle_blas_memory()
    assert not taken
    bounded(monkeypatch, 600 << 20)
    blas_memory.settle_blas_memory()
    assert taken


def test_without_room_for_it_python_says_so(monkeypatch):
    """OpenBLAS itself would end the process, with the code of a finding."""
    monkeypatch.setattr(blas_memory, "BUFFER_BYTES", 1 << 60)
    with pytest.raises(MemoryError, match="linear algebra needs"):
        blas_memory.take_blas_memory()
