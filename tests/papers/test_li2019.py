"""The experiments of Li et al. 2019: their parts on small cases."""

from __future__ import annotations

import numpy as np
import pytest

from data_files import require_data
from fedleak.defenses.changed_settings import FreshBatches
from fedleak.papers import EXPERIMENTS
from fedleak.papers.li2019.asynchronised import LocalStepsExperiment, _largest_rate, _product, _second_order_is_exact
from fedleak.papers.li2019.chain import attempt, coin_rows, main_score, run, two_parties
from fedleak.papers.li2019.outsiders import Outsiders
from fedleak.papers.li2019.printed import TABLE_1
from fedleak.papers.li2019.table1 import Scale, Table1, _scale_row, random_table, solve_program
from fedleak.papers.li2019.wheat import Wheat
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.trial.progress import Silent


def test_the_papers_grid_is_complete():
    assert {m for m, _ in TABLE_1} == {3, 5, 8, 9, 11}
    assert {d for _, d in TABLE_1} == {5, 10, 15, 20}
    assert [cell for cell, seconds in TABLE_1.items() if seconds is None] == [(9, 5), (11, 5)]


def test_the_papers_program_finds_a_table():
    table = random_table(3, 5, 0)
    result = solve_program(table.T @ table, 3, 20.0)
    assert result.table is not None
    assert np.array_equal(result.table.T @ result.table, table.T @ table)
    assert result.cpu_seconds > 0


def test_a_cell_of_table_1_has_both_solvers_side_by_side():
    row = Table1()._cell(3, 5, quick=True)
    assert row.measured["certified_unique"] == row.measured["truth_found_if_unique"] == 1.0
    assert row.measured["cbc_over_ours"] > 1
    assert row.paper == {"cbc_cpu_seconds": 0.805}


def test_a_point_of_the_scale_is_certified_and_right():
    row = _scale_row(12, 20, (0, 1))
    assert row.measured["certified_unique"] == row.measured["equal_to_truth"] == 1.0
    (panel,) = Scale().panels([row])
    assert panel.curves[0].x == [12.0]


def test_the_largest_rate_is_on_the_ladder():
    row = _largest_rate(6, 8, 2)
    assert row.measured["largest_rate_that_breaks"] >= 0.01
    assert row.measured["exact_share"] >= 0.9


def test_the_simple_correction_breaks_small_rates_only():
    x = coin_rows(44, 20, 0, "test").features
    assert _second_order_is_exact(_product(x, 4, 0.002), x)
    assert not _second_order_is_exact(_product(x, 4, 0.04), x)


def test_seeds_are_fixed_and_more_without_quick():
    for experiment in (Table1(), Scale(), LocalStepsExperiment(), Wheat()):
        assert len(experiment.seeds(quick=True)) < len(experiment.seeds(quick=False))


def test_a_defense_reaches_the_chain():
    settings = HorizontalLogisticSettings(rounds=30, batch_size=4, shuffled=("curious",))
    federation = two_parties(coin_rows(24, 8, 0, "curious"), coin_rows(8, 8, 0, "victim"), settings)
    bare = attempt(run(federation, 0), "column-products")
    assert main_score(bare).value == 1.0
    defended = attempt(run(federation, 0, FreshBatches()), "column-products")
    assert not np.array_equal(defended.guess.values, bare.guess.values)


def test_sums_of_several_parties_break_at_small_rates_and_nothing_wrong_is_called_whole():
    found = list(Outsiders().rows(quick=True, progress=Silent()))
    assert [row.setting["parties outside"] for row in found] == [1, 2]
    assert all((row.measured["largest_rate_that_breaks"] or 0) >= 0.01 for row in found)
    assert [row.measured["claimed_but_wrong_share"] for row in found] == [0.0, 0.0]


def test_wheat_goes_all_the_way():
    require_data("wheat_dart_markers")
    rows = [row for row in Wheat().rows(quick=True, progress=Silent()) if row.measured.get("certified_share")]
    assert rows
    assert all(row.measured["worst_if_certified"] == 1.0 for row in rows)


@pytest.mark.parametrize(
    "experiment",
    ["li2019/table1", "li2019/scale", "li2019/async", "li2019/async-parties", "li2019/wheat", "li2019/defenses"],
)
def test_every_experiment_is_registered(experiment):

    assert EXPERIMENTS.get(experiment).name == experiment
