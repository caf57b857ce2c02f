"""Experiments of Li et al. 2021 on small cases."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.papers import EXPERIMENTS
from fedleak.papers.li2021.boosted_run import BoostedRun, rounds_of
from fedleak.papers.li2021.decoded_histograms import BINS, Setup, placeable
from fedleak.papers.li2021.decoded_histograms import measure as measure_bins
from fedleak.papers.li2021.fig9_and_10 import CollusionCase, measure_collusion
from fedleak.papers.li2021.printed import BREAST, IRIS, TABLE2, TABLE3, TABLE4, TABLE5, TABLE6
from fedleak.papers.li2021.split_point_questions import measure as measure_questions
from fedleak.papers.li2021.table2_and_3 import measure_case
from fedleak.papers.li2021.tables import plan_cells
from fedleak.papers.li2021.vertical_run import ATTACKER
from fedleak.theory.boosted_trees import printed_batches
from fedleak.theory.rotation_freedom import degrees_of_freedom

IRIS_AND_BREAST = [case for case in TABLE3 if case.dataset == "iris" or case.victim_features == 3]


def test_the_papers_rows_are_all_there():
    assert (len(TABLE2), len(TABLE3), len(TABLE4), len(TABLE5), len(TABLE6)) == (10, 13, 4, 3, 9)
    names = {experiment.name for experiment in EXPERIMENTS}
    assert {
        f"li2021/{name}"
        for name in ("table2", "table3", "table4", "table5", "table6", "fig7", "fig8", "fig9", "fig10", "fig11")
    } <= names


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


@pytest.mark.parametrize("case", [*TABLE5, *TABLE6], ids=str)
def test_the_papers_formula_gives_its_own_counts(case):
    assert printed_batches(case.victim_nodes, (case.high - case.low) / case.epsilon, case.records) == case.queries


@pytest.mark.parametrize("case", [IRIS, BREAST], ids=lambda case: case.dataset)
def test_every_split_point_in_few_batches(case):
    found = measure_questions(case, 3, seed=0)
    ours, hidden, printed = found.searches.values()
    assert ours.coverage == hidden.coverage == printed.coverage == 1
    assert ours.wrong == hidden.wrong == printed.wrong == 0
    assert found.least <= ours.batches <= found.allowed
    assert hidden.batches <= 2 * ours.batches
    assert found.formula / 2 < printed.batches <= found.formula
    assert ours.error <= 1 < found.baseline_error


def test_bins_of_iris_are_placed_up_to_the_ceiling():
    found = measure_bins(Setup(BoostedRun(IRIS, 3, rounds_of(IRIS)), 1), seed=0)
    assert found.wrong == 0
    assert 0 < found.placed == found.ceiling < 1


def test_the_ceiling_counts_exchangeable_rows_that_share_a_bin():
    played = BoostedRun(IRIS, 2, 1).play(0)
    bins = played.run.truth.of(BINS).values
    view = played.view((ATTACKER,), BINS)
    assert placeable(view, np.zeros_like(bins)).all()  # all rows in one bin: nothing to confuse
    alone = np.arange(bins.size, dtype=float).reshape(bins.shape)  # no two rows in one bin: only single rows are told
    assert placeable(view, alone).mean() <= placeable(view, bins).mean() < 1


def test_marks_place_every_bin_and_change_no_split():
    found = measure_bins(Setup(BoostedRun(BREAST, 2, 1), 1, marked=True), seed=0)
    assert (found.placed, found.wrong, found.same_splits) == (1, 0, 1)
