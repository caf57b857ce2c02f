"""Rivals on the gradients of a cut network: the truth is at no distance, and what they find is scored in any order."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.cut_dummy_batch import CutDummyBatch
from fedleak.attacks.networks.dummy_batch import Objective
from fedleak.attacks.networks.gradient_distances import squared
from fedleak.papers.jin2021.cafe_run import PictureCase
from fedleak.papers.jin2021.printed import MNIST, TABLE_2
from fedleak.papers.jin2021.rival_searches import (
    NO_BATCH_NORM,
    OURS,
    RIVALS,
    Rivals,
    _row,
    attacked,
    paired_error,
    rival_search,
)

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def problem():
    return attacked(PictureCase(MNIST, n_rows=4, batch_size=2, n_steps=60), 0)


def test_the_true_pictures_have_the_gradients_that_were_seen(problem):
    batch = CutDummyBatch(problem.seen, Objective(squared), problem.seen.labels)
    found = [batch.best(batch.tensor(one.ravel()), 1).distance for one in (problem.true, problem.true[::-1])]
    assert min(found) < 1e-10  # labels are in the order of the classes
    assert batch.best(batch.tensor(np.full(problem.true.size, 0.5)), 1).distance > 1e-2


def test_ours_are_the_rows_of_the_first_batch(problem):
    assert problem.ours.shape == problem.true.shape == (2, 4, 1, 14, 14)
    assert ((problem.ours - problem.true) ** 2).mean() < 1e-3
    assert problem.cpu_seconds > 0


def test_a_rival_tells_its_time_and_its_evaluations(problem):
    found, spent = rival_search(problem.seen, RIVALS["DLG"], 0.2, 0)
    assert found.inputs.shape == problem.true.shape
    assert found.evaluations >= 20
    assert spent > 0.1


def test_the_order_of_a_batch_does_not_count():
    rows = np.random.default_rng(0).random((5, 4, 1, 3, 3))
    assert paired_error(rows[::-1] + 0.0, rows) == pytest.approx(0.0, abs=1e-12)
    assert paired_error(np.full_like(rows, 2.0), rows) == pytest.approx(((1 - rows) ** 2).mean())


def test_the_paper_has_figures_for_its_batch_alone():
    figures = {"psnr": 9.0, "grey": 6.0}
    assert _row(PictureCase(MNIST, 20, 1), "DLG", figures).paper is None
    row = _row(PictureCase(MNIST, 800, 40), "DLG", figures)
    assert (row.paper, row.baseline) == ({"psnr": TABLE_2["DLG"][MNIST]}, {"psnr": 6.0})
    assert _row(PictureCase(MNIST, 800, 40), OURS, figures).paper == {"psnr": TABLE_2["CAFE"][MNIST]}
    assert _row(PictureCase(MNIST, 800, 40), "iDLG", figures).paper is None
    assert "batch norm" in NO_BATCH_NORM
    assert {(case.n_rows, case.batch_size) for case in Rivals().cases(quick=False)} == {(20, 1), (800, 40)}
