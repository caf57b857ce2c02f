"""Example rows: by place and not by merit, without what was known beforehand, without fillers of missing cells."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import ColumnResult
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.metric import Answered
from fedleak.trial.exhibits import MAX_EXAMPLE_COLUMNS, exhibit_of

FEATURES = Secret(SecretKind.FEATURES, "bank")
N_ROWS, N_COLUMNS = 31, 10


def results(learnt: list[float]) -> tuple[ColumnResult, ...]:
    return tuple(ColumnResult(f"c{place}", N_ROWS, 0.1, 0.2, 0.5, 0.3, one) for place, one in enumerate(learnt))


def answered(guessed: np.ndarray, true: np.ndarray, knowledge: Knowledge | None = None) -> Answered:
    truth = SecretValues.spanning(100 + np.arange(N_ROWS), tuple(f"c{c}" for c in range(N_COLUMNS)), true)
    return Answered(Guess(FEATURES, Status.PARTIAL, truth.ids, guessed), truth, knowledge or Knowledge())


def test_rows_are_spread_evenly_whatever_the_guess_is_worth():
    true = np.random.default_rng(0).random((N_ROWS, N_COLUMNS))
    columns = results([0.1 * place for place in range(N_COLUMNS)])
    near, far = (exhibit_of(answered(true + off, true), columns).examples for off in (0.0, 5.0))
    assert near is not None
    assert far is not None
    assert near.rows == far.rows == ("row 100", "row 110", "row 120", "row 130")
    assert near.columns == tuple(f"c{place}" for place in range(9, 9 - MAX_EXAMPLE_COLUMNS, -1))
    assert np.array_equal(near.true, true[[0, 10, 20, 30]][:, 9:1:-1])
    assert np.array_equal(far.guessed, far.true + 5.0)


def test_known_and_missing_cells_are_no_examples():
    true = np.random.default_rng(1).random((N_ROWS, N_COLUMNS))
    known = KnownCells("bank", np.array([100]), np.array([9]), np.array([true[0, 9]]))
    given = answered(true, true, Knowledge(cells=(known,)))
    absent = np.zeros(true.shape, dtype=bool)
    absent[10, 9] = True
    given = Answered(given.guess, given.truth, given.knowledge, absent=absent)
    found = exhibit_of(given, results([0.1 * place for place in range(N_COLUMNS)])).examples
    assert found is not None
    assert np.isnan(found.guessed[:2, 0]).all(), "known beforehand; missing"
    assert np.isnan(found.true[1, 0]), "a filler is no value of anybody"
    assert np.isfinite(found.guessed[2:]).all()


def test_where_nothing_is_guessed_there_are_none():
    true = np.random.default_rng(2).random((N_ROWS, N_COLUMNS))
    nothing = np.full(true.shape, np.nan)
    assert exhibit_of(answered(nothing, true), results([0.5] * N_COLUMNS)).examples is None
