"""Directions in which scores move leave one labeling, and what is called proved is so; chance, copies and noise are
not taken for proofs."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.residuals.batch_visits import Visits, recurring, series_of
from random_cases import seeds

HALF = 0.5


def trained(rng, cells, labels, n_visits, *, batch=None, precision=np.float32, rate=0.3, l2=0.01):
    """What the party with the labels sends, as FATE computes it, and rows of each round. A partner's scores are in
    what it steps on, not in what it sends."""
    n_rows = len(labels)
    weights = rng.normal(size=cells.shape[1]).astype(precision)
    cells, partner = cells.astype(precision), rng.normal(size=(n_rows, n_visits)).astype(precision)
    rounds = []
    for visit in range(n_visits):
        for rows in np.array_split(np.arange(n_rows), -(-n_rows // (batch or n_rows))):
            sent = precision(0.25) * (cells[rows] @ weights) - precision(HALF) * labels[rows].astype(precision)
            rounds.append((rows, sent.astype(np.float64)))
            gradient = cells[rows].T @ (sent + partner[rows, visit] * precision(0.3)) / precision(len(rows))
            weights = (weights - precision(rate) * (gradient + precision(l2) * weights)).astype(precision)
    return rounds


def noise_of(rounds):
    return 0.5 * 2.0**-24 * max(np.abs(values).max() for _, values in rounds)


def drawn_cells(rng, n_rows, width):
    """Numbers, flags and copies: flags are what another labeling can hide behind."""
    cells = rng.normal(size=(n_rows, width))
    flags = rng.random(width) < 0.3
    cells[:, flags] = rng.random((n_rows, int(flags.sum()))) < rng.choice([0.05, 0.5])
    if width > 1 and rng.random() < 0.3:
        cells[:, -1] = cells[:, 0]
    return cells


@pytest.mark.parametrize("seed", seeds(40))
def test_no_label_that_is_called_proved_is_wrong(seed):
    rng = np.random.default_rng(seed)
    n_rows, width = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    cells = drawn_cells(rng, n_rows, width)
    labels = np.where(rng.random(n_rows) < rng.choice([0.1, 0.5]), 1.0, -1.0)
    rounds = trained(rng, cells, labels, int(rng.integers(1, 20)), batch=int(rng.choice([n_rows, 15])))
    begin = np.where(rng.random(n_rows) < rng.choice([0.05, 0.3]), -labels, labels)
    for rows, values in recurring(rounds):
        found = Visits(values, HALF, noise_of(rounds)).labeled(begin[rows])
        assert np.array_equal(found.signs[found.proved], labels[rows][found.proved])


def test_large_scores_are_told_apart_from_labels():
    rng = np.random.default_rng(5)
    cells, labels = 4 * rng.normal(size=(60, 3)), np.where(rng.random(60) < 0.4, 1.0, -1.0)
    rounds = trained(rng, cells, labels, 12, rate=0.05)
    values = series_of(rounds, 60)
    by_sign = np.where(values[:, 0] < 0, 1.0, -1.0)
    assert np.mean(by_sign == labels) < 0.8
    begin = np.where(rng.random(60) < 0.1, -labels, labels)
    found = Visits(values, HALF, noise_of(rounds)).labeled(begin)
    assert found.proved.all()
    assert np.array_equal(found.signs, labels)


def test_a_flag_hides_the_labels_of_its_rows_and_no_others():
    """Two rows of one label have the flag: its weight may be any, so that both labels of both rows fit."""
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    labels[:2] = 1.0
    flag = (np.arange(40) < 2).astype(np.float64)
    rounds = trained(rng, np.column_stack([rng.normal(size=40), flag]), labels, 12)
    found = Visits(series_of(rounds, 40), HALF, noise_of(rounds)).labeled(labels)
    assert found.fits
    assert found.proved.tolist() == (flag == 0).tolist()


def test_directions_that_were_not_seen_to_move_prove_nothing():
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    rounds = trained(rng, rng.normal(size=(40, 6)), labels, 3)
    found = Visits(series_of(rounds, 40), HALF, noise_of(rounds)).labeled(labels)
    assert not found.fits
    assert not found.proved.any()


def test_rows_as_many_as_directions_fit_any_labels_and_prove_none():
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(4) < 0.5, 1.0, -1.0)
    rounds = trained(rng, rng.normal(size=(4, 6)), labels, 12)
    assert not Visits(series_of(rounds, 4), HALF, noise_of(rounds)).labeled(labels).proved.any()


def test_rows_keep_their_values_in_whatever_order_a_batch_names_them():
    first, again = np.array([2, 0]), np.array([0, 2])
    rounds = [(first, np.array([20.0, 10.0])), (np.array([1]), np.array([5.0])), (again, np.array([11.0, 21.0]))]
    (rows, values), (alone, one) = recurring(rounds)
    assert rows.tolist() == [0, 2]
    assert values.tolist() == [[10.0, 11.0], [20.0, 21.0]]
    assert (alone.tolist(), one.tolist()) == ([1], [[5.0]])
    assert series_of(rounds, 3).tolist() == [[10.0], [5.0], [20.0]]
