from __future__ import annotations

import json

import numpy as np
import pytest

from fedleak.bench import secureboost_bench as bench
from fedleak.bench.tree_on_cores import check_same_splits, measure_cores
from fedleak.core.errors import RunError
from fedleak.core.payload import Table
from fedleak.core.transcript import Record


def test_result_has_the_ratios_and_both_sides() -> None:
    result = bench.measure(quick=True)
    packed, apart = result["sides"]["packed"], result["sides"]["apart"]
    assert result["bench"] == "secureboost"
    assert result["seconds_ratio"] == pytest.approx(apart["seconds"] / packed["seconds"])
    assert result["decryptions_ratio"] == apart["decryptions"] / packed["decryptions"] >= 25
    assert apart["encryptions"] == 2 * packed["encryptions"] == 2 * 2 * 569
    assert apart["seconds"] > apart["seconds_measured"] > 0
    assert packed["additions_per_second"] > 0
    assert result["environment"]["clock"].endswith("scaled by decryptions")
    json.dumps(result, allow_nan=False)


def test_sides_that_split_otherwise_are_not_compared() -> None:
    federation = bench._breast(bench.SecureBoostSettings(n_trees=1, depth=2, cipher="sealed", key_bits=1024))
    one, other = bench._run(federation), bench._run(federation)
    bench._check_same(one, other, 1)
    changed = [
        Record(r.step, r.round, r.name, Table(r.value.columns, r.value.ids, np.asarray(r.value.values) + 1))
        if r.name == "splits"
        else r
        for r in other.locals["passive"]
    ]
    with pytest.raises(RunError, match="those of passive differ"):
        bench._check_same(one, type(other)(other.transcript, {**other.locals, "passive": changed}, other.truth), 1)


def test_one_core_and_two_grow_the_same_tree() -> None:
    settings = bench.SecureBoostSettings(n_trees=1, depth=1, key_bits=1024)
    rows = np.random.default_rng(5).standard_normal((4_000, 5))
    result = measure_cores(bench._dealt(rows, (rows[:, 0] > 0).astype(np.int64), 0, settings), bench.SEED, n_cores=2)
    alone, together = result["one_core"], result["all_cores"]
    assert (alone["cores"], together["cores"]) == (1, 2)
    assert alone["helpers_peak_bytes"] < together["helpers_peak_bytes"]  # there is one, and it was waited for
    assert min(alone["cpu_seconds"], together["cpu_seconds"]) > 0
    assert result["wall_ratio"] == pytest.approx(alone["wall_seconds"] / together["wall_seconds"])
    with pytest.raises(RunError, match="the same on one core"):
        check_same_splits([np.zeros(2)], [np.ones(2)])
