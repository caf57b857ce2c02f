"""Experiments of Li et al. 2021 on small cases."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.papers import EXPERIMENTS
from fedleak.papers.li2021.fig9_and_10 import CollusionCase, measure_collusion
from fedleak.papers.li2021.printed import TABLE2, TABLE3, TABLE4
from fedleak.papers.li2021.table2_and_3 import measure_case
from fedleak.papers.li2021.tables import plan_cells
from fedleak.theory.rotation_freedom import degrees_of_freedom

IRIS_AND_BREAST = [case for case in TABLE3 if case.dataset == "iris" or case.victim_features == 3]


def test_the_papers_rows_are_all_there():
    assert (len(TABLE2), len(TABLE3), len(TABLE4)) == (10, 13, 4)
    names = {experiment.name for experiment in EXPERIMENTS}
    assert {f"li2021/{name}" for name in ("table2", "table3", "table4", "fig7", "fig8", "fig9", "fig10")} <= names


@pytest.mark.parametrize("case", IRIS_AND_BREAST, ids=str)
def test_small_rows_of_table_3_end_to_end(case):
    found = measure_case(case, logistic=True, seed=0)
    assert found.relative_error is not None, found.note
    assert found.relative_error <= max(case.relative_error, 1e-8)
    assert found.baseline_error > 0.05
    wanted = {1: 1, 2: 2, 3: 4}[case.victim_features]
    assert found.n_solutions == wanted  # what the paper's own number of known cells leaves


def test_known_cells_begin_with_the_papers_number_and_only_grow():
    values = np.random.default_rng(0).standard_normal((12, 6))
    plan = plan_cells(values, np.random.default_rng(1))
    assert plan.n_base == degrees_of_freedom(6, with_weights=True)
    few, more = (plan.knowledge("victim", values, extra).cells[0] for extra in (0, 4))
    pairs = [set(zip(known.ids.tolist(), known.columns.tolist(), strict=True)) for known in (few, more)]
    assert pairs[0] < pairs[1]
    np.testing.assert_array_equal(more.values, values[more.ids, more.columns])


def test_a_coalition_with_the_arbiter_on_shuffled_batches():
    row = measure_collusion(CollusionCase("iris", 30, 2), logistic=True, seed=0)
    assert row.measured["relative_error"] < 1e-10
    assert row.baseline["relative_error"] > 0.1
