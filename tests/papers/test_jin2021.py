"""CAFE's experiments: what is planned, and a small one of each kind."""

from __future__ import annotations

import pytest

from fedleak.papers.experiment import Row
from fedleak.papers.jin2021.cafe_run import PictureCase, grey_psnr, picture_federation, picture_figures, table_figures
from fedleak.papers.jin2021.fully_connected_tables import SPECS, table_federation
from fedleak.papers.jin2021.printed import CIFAR, LINNAEUS, MNIST, TABLE_2
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
