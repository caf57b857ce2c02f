"""The bench of an audit: both sides do the same work, and it says so where they do not."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.bench import audit_bench
from fedleak.bench.audit_bench import Sizes, measure
from fedleak.core.errors import RunError

TINY = Sizes(24, 256, 1, 1)
FOUND = [("residual-sign", None, "leak", 1.0)]


@pytest.fixture
def audits(monkeypatch: pytest.MonkeyPatch) -> dict[int, audit_bench._Audited]:
    """In place of the audits themselves, which other tests run."""
    told = {1: audit_bench._Audited(6.0, 5.0, FOUND), 2: audit_bench._Audited(3.0, 5.5, FOUND)}
    monkeypatch.setattr(audit_bench, "QUICK", TINY)
    monkeypatch.setattr(audit_bench, "_audit", lambda jobs, _: told[jobs])
    monkeypatch.setattr(audit_bench, "_ciphertext_seconds", lambda _: 4.0)
    return told


@pytest.mark.usefixtures("audits")
def test_ratios_are_of_what_was_measured() -> None:
    found = measure(quick=True)
    assert found["jobs_ratio"] == 2.0
    assert found["limit_ratio"] == 1.25
    sides = found["sides"]
    assert found["onehot_ratio"] == sides["plain"]["onehot_seconds"] / sides["fedleak"]["onehot_seconds"]  # type: ignore[index]


def test_audits_that_find_something_else_are_no_comparison(audits: dict[int, audit_bench._Audited]) -> None:
    audits[2] = audit_bench._Audited(3.0, 5.5, [])
    with pytest.raises(RunError, match="must find the same"):
        measure(quick=True)


def test_the_table_is_of_flags() -> None:
    table = audit_bench._flags(200)
    assert {len(np.unique(column)) for column in table} == {2}
    assert len(table) <= sum(audit_bench.CATEGORIES)


def test_ciphertexts_of_the_built_in_audit_have_a_price() -> None:
    assert audit_bench._ciphertext_seconds(Sizes(24, 1024, 1, 1)) > 0.5
