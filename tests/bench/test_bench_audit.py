"""The bench of an audit: both sides do the same work, and it says so where they do not."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.bench import audit_bench, packed_round
from fedleak.bench.aggregation_round import ModularKey, summed
from fedleak.bench.audit_bench import Sizes, measure
from fedleak.core.errors import RunError
from fedleak.crypto.agreed_keys import MaskingKey
from fedleak.crypto.paillier_cipher import Paillier

TINY = Sizes(24, 256, 1, 1, 4)
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
    for name, seconds in (("onehot", "onehot"), ("aggregation", "aggregation"), ("packing", "product")):
        plain, ours = (found["sides"][side][f"{seconds}_seconds"] for side in ("plain", "fedleak"))  # type: ignore[index]
        assert found[f"{name}_ratio"] == plain / ours


def test_audits_that_find_something_else_are_no_comparison(audits: dict[int, audit_bench._Audited]) -> None:
    audits[2] = audit_bench._Audited(3.0, 5.5, [])
    with pytest.raises(RunError, match="must find the same"):
        measure(quick=True)


def test_products_that_differ_are_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Paillier(allow_small_keys=True).generate(512)
    plain, packed = packed_round.rounds(key, 3, 4)
    assert plain() == packed()
    monkeypatch.setattr(packed_round, "unmask", lambda inputs: [inputs.slot_bits])
    with pytest.raises(RunError, match="both products must be the same"):
        packed_round.rounds(key, 3, 4)


def test_the_table_is_of_flags() -> None:
    table = audit_bench._flags(200)
    assert {len(np.unique(column)) for column in table} == {2}
    assert len(table) <= sum(audit_bench.CATEGORIES)


def test_ciphertexts_of_the_built_in_audit_have_a_price() -> None:
    assert audit_bench._ciphertext_seconds(Sizes(24, 1024, 1, 1, 4)) > 0.5


def test_a_round_opens_the_sum_of_its_vectors_under_keys_of_either_kind() -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 7))
    for kind in (ModularKey, MaskingKey):
        np.testing.assert_allclose(summed(kind, vectors), vectors.sum(axis=0), atol=1e-11)
    first, second = ModularKey(), ModularKey()
    assert first.shared_with(second.public) == second.shared_with(first.public)


def test_rounds_that_sum_to_something_else_are_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_bench, "summed", lambda kind, vectors: vectors[kind is ModularKey])
    with pytest.raises(RunError, match="both sums must be the same"):
        audit_bench._secure_sums(TINY)
