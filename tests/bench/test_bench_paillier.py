from __future__ import annotations

import json
import sys

import phe
import pytest

from fedleak.bench import paillier_bench as bench
from fedleak.bench.paillier_bench import OPERATIONS
from fedleak.bench.paillier_rivals import RIVALS, PheSide
from fedleak.core.errors import MissingExtraError, RunError


def test_result_has_the_ratios_both_sides_and_the_environment() -> None:
    result = bench.measure(key_bits=1024, quick=True)
    assert result["bench"] == "paillier"
    sides = result["sides"]
    assert isinstance(sides, dict)
    absent = result["not_installed"]
    assert {*sides, *absent} == {"fedleak", "paillier-subgroup", *(rival.package for rival in RIVALS)}
    assert not {"fedleak", "paillier-subgroup", "phe"} & set(absent)
    for name in OPERATIONS:
        ours, theirs = (sides[side][f"{name}_seconds"] for side in ("fedleak", "phe"))
        assert ours > 0
        assert result[f"{name}_ratio"] == pytest.approx(theirs / ours)
        short = sides["paillier-subgroup"][f"{name}_seconds"]
        assert result[f"subgroup_{name}_ratio"] == pytest.approx(ours / short)
    environment = result["environment"]
    assert isinstance(environment, dict)
    assert (environment["key_bits"], environment["phe"]) == (1024, "1.5.0")
    assert environment["cpu"]
    json.dumps(result, allow_nan=False)


def test_sides_that_disagree_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PheSide.add
    monkeypatch.setattr(PheSide, "add", lambda side, count: [c + 1 for c in honest(side, count)])
    with pytest.raises(RunError, match="both sides of add"):
        bench.measure(key_bits=1024, quick=True)


def test_without_phe_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phe", None)
    with pytest.raises(MissingExtraError, match=r"phe.*GPL.*fedleak\[dev\]") as caught:
        bench.measure(key_bits=1024, quick=True)
    assert caught.value.exit_code == 2


def test_phe_without_gmpy2_is_no_fair_partner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phe.util, "HAVE_GMP", False)
    with pytest.raises(MissingExtraError, match="gmpy2"):
        bench.measure(key_bits=1024, quick=True)
