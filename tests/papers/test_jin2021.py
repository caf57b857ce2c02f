"""CAFE's experiments: what is planned, and a small one of each kind."""

from __future__ import annotations

import pytest

from fedleak.papers.experiment import Row
from fedleak.papers.jin2021.cafe_run import (
    EpochCase,
    PictureCase,
    grey_psnr,
    picture_federation,
    picture_figures,
    table_figures,
)
from fedleak.papers.jin2021.fully_connected_tables import SPECS, table_federation
from fedleak.papers.jin2021.printed import CIFAR, LINNAEUS, MNIST, TABLE_2, TABLE_5
from fedleak.papers.jin2021.printed_loops import (
    NESTED,
    PRINTED,
    SINGLE,
    Course,
    Table4,
    Table5,
    _by_mode,
    course_figures,
)
from fedleak.papers.jin2021.recovered_pictures import Table2, Table3, Table6, Table7, _row
from fedleak.trial.measured_journal import MeasuredJournal

pytest.importorskip("torch")


@pytest.mark.parametrize("experiment", [Table2, Table3, Table6, Table7])
def test_linnaeus_is_marked_and_never_run(experiment) -> None:
    planned = experiment().plan(quick=True)
    missing = [(setting, case, printed) for setting, case, printed in planned if setting["dataset"] == LINNAEUS]
    assert missing
    for setting, case, printed in missing:
        row = _row(setting, case, printed, MeasuredJournal())
        assert isinstance(row, Row)
        assert row.measured == {"psnr": None}
        assert row.note == "the data set is not available"
        assert row.paper == {"psnr": printed}


def test_the_full_table_2_has_the_paper_s_sizes() -> None:
    cases = [case for _, case, _ in Table2().plan(quick=False) if case is not None]
    assert {case.dataset for case in cases} == {CIFAR, MNIST}
    assert {(case.n_rows, case.batch_size, case.side) for case in cases} == {(800, 40, 2)}
    assert {case.n_batches for case in cases} == {120}
    assert TABLE_2["CAFE"][CIFAR] == 31.83


def test_pictures_come_out_far_above_grey() -> None:
    case = PictureCase(MNIST, n_rows=4, batch_size=1, n_steps=40)
    assert len(picture_federation(case, 0).parties) == 5
    found = picture_figures(case, 0, MeasuredJournal())
    assert found["psnr"] > grey_psnr(case) + 6
    assert found["parts"] == 16


def test_every_cell_of_a_small_table_is_solved_for() -> None:
    federation = table_federation(SPECS["breast cancer"], 0, n_rows=30, size=5)
    found = table_figures(federation, 0)
    assert found["cells_to_1_percent"] == 1.0
    assert found["rows_not_told_for_another_reason"] == 0.0


def test_one_epoch_separates_nothing_and_that_is_told() -> None:
    """Every batch is seen once: its rows are a sum, and all parts count as grey."""
    case = EpochCase(MNIST, n_rows=4, batch_size=2, n_steps=4, epochs=1)
    found = picture_figures(case, 0, MeasuredJournal())
    assert case.n_batches == 2
    assert (found["parts_not_told"], found["parts_that_fit"], found["psnr_told"]) == (16.0, 0.0, None)
    assert found["psnr"] == pytest.approx(grey_psnr(case))


CASE = PictureCase(MNIST, n_rows=2, batch_size=1)


def test_the_harness_stops_at_a_true_psnr_and_the_loops_take_their_steps() -> None:
    at_once = course_figures(CASE, Course(PRINTED, SINGLE, 9, until=0.0), 0)
    assert (at_once["steps_1"], at_once["reached"]) == (min(9, CASE.n_batches), 1.0)
    never = course_figures(CASE, Course(PRINTED, NESTED, 5, until=99.0), 0)
    assert [never[f"steps_{number}"] for number in (1, 2, 3)] == [5.0, 5.0, 5.0]
    assert never["reached"] == 0.0
    without = course_figures(CASE, Course(PRINTED, SINGLE, 9), 0)
    assert without["psnr"] != at_once["psnr"]
    assert without["reached"] is None


def test_rows_of_table_5_are_its_loops() -> None:
    figures = {"psnr": 30.0, "steps_1": 8.0, "steps_2": 8.0, "steps_3": 4.0, "reached": 1.0}
    rows = list(_by_mode(MNIST, CASE, Course(PRINTED, NESTED, 8, 27.0), figures))
    assert [row.setting["mode"] for row in rows] == list(TABLE_5)[1:]
    assert [row.measured["iterations"] for row in rows] == [8.0, 8.0, 4.0]
    assert [row.note for row in rows] == ["all steps were taken", "all steps were taken", "stopped at 27 dB"]
    assert rows[0].paper == {"iterations": 8000.0}
    assert Table5.from_true_rows, "a run that is stopped by the truth says so"
    assert LINNAEUS in Table4.datasets
