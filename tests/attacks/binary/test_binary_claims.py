"""What ``binary-records`` calls recovered is, whatever the columns hold: zeros and ones, other codes, or numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.binary_records import BinaryRecords
from fedleak.attacks.binary.completed_rows import bounds_from_binary
from fedleak.core.adversary import Secret
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge
from fedleak.metrics.cell_metrics import CellsRecovered
from fedleak.metrics.metric import Answered
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from horizontal import binary, federation, train, view_of
from random_cases import seeds

LOCAL_STEPS = {"update": "asynchronised", "learning_rate": 0.01, "fraction_bits": 46}


def standardised(bits, _):
    spread = bits.std(axis=0)
    return (bits - bits.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


CODES = {
    "0/1": lambda bits, rng: bits,
    "standardised": standardised,
    "-1/1": lambda bits, rng: 2 * bits - 1,
    "0/2": lambda bits, rng: 2 * bits,
    "0/sqrt 2": lambda bits, rng: np.sqrt(2) * bits,
    "0/1/2": lambda bits, rng: bits * rng.integers(1, 3, bits.shape),
    "integers": lambda bits, rng: rng.integers(-2, 3, bits.shape).astype(float),
    "unit columns": lambda bits, rng: bits / np.maximum(np.linalg.norm(bits, axis=0), 1.0),
    "one binary": lambda bits, rng: np.column_stack([bits[:, :1], rng.standard_normal((len(bits), bits.shape[1] - 1))]),
    "two numbers": lambda bits, rng: np.column_stack([bits, rng.standard_normal((len(bits), 2))]),
}


def answered(tables, coalition, target, *, batch_size, seed=0, **changes):
    """The guess, and the share of cells that are right."""
    shuffled = tuple(name for name in tables if name == "hospital")
    settings = HorizontalLogisticSettings(rounds=60, batch_size=batch_size, shuffled=shuffled, **changes)
    result = train(federation(tables, settings, seed=seed))
    secret = Secret(BinaryRecords.produces, target)
    guess = BinaryRecords().run(view_of(result, coalition, secret), rng=np.random.default_rng(0))
    scored = Answered(guess, result.truth.of(secret), Knowledge(), BinaryRecords.up_to)
    return guess, CellsRecovered().score(scored, rng=np.random.default_rng(0)).value


@pytest.mark.parametrize("code", ["standardised", "-1/1", "0/2"])
@pytest.mark.parametrize("seed", range(3))
def test_other_codes_are_not_taken_for_binary(code, seed):
    rng = np.random.default_rng(seed)
    tables = {
        "hospital": CODES[code](binary(30, 12, seed + 50), rng),
        "clinic": CODES[code](binary(8, 12, seed), rng),
    }
    guess, _ = answered(tables, ("hospital",), "clinic", batch_size=8)
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert "other values than 0 and 1" in guess.why


def of_server(rows):
    """Two parties with these rows between them, each with one batch."""
    half = len(rows) // 2
    return {"clinic": rows[:half], "lab": rows[half:]}


STAIRS = np.tri(4)[::-1]  # its columns generate ℤ⁴
FOR_SERVER = {"batch_size": 2, "fraction_bits": 44}


@pytest.mark.parametrize(("code", "rate"), [("standardised", 0.4), ("-1/1", 0.4), ("0/2", 0.15)])
def test_nor_by_a_server_that_has_no_rows_to_compare_with(code, rate):
    tables = of_server(CODES[code](STAIRS[:, 1:], np.random.default_rng(0)))
    guess, _ = answered(tables, ("hub",), "clinic+lab", learning_rate=rate, **FOR_SERVER)
    assert guess.evidence["rank"] == guess.evidence["rank needed"]  # the inner products are known
    assert guess.status is not Status.RECOVERED


def test_a_server_recovers_what_the_lattice_certifies():
    guess, share = answered(of_server(STAIRS), ("hub",), "clinic+lab", learning_rate=0.5, **FOR_SERVER)
    assert guess.status is Status.RECOVERED
    assert share == 1.0


def test_a_server_does_not_call_recovered_what_the_lattice_leaves_open():
    """The only table of zeros and ones with these products, and all labels found; but the columns generate half of the
    whole numbers only, as they do under other codes, and nothing else shows that they are zeros and ones."""
    rows = binary(6, 7, [6, 7, 56])
    guess, share = answered(of_server(rows), ("hub",), "clinic+lab", learning_rate=0.2, batch_size=3, fraction_bits=44)
    assert share == 1.0
    assert np.isfinite(guess.values).all()
    assert (guess.status, guess.certificate) == (Status.PARTIAL, "")
    assert "not shown by anything else" in guess.why


def test_a_column_that_nothing_corroborates_makes_no_recovery():
    """The own rows are zero in a column that holds zeros and twos elsewhere: it may be binary, and is not."""
    rng = np.random.default_rng(0)
    own, theirs = rng.standard_normal((30, 4)), rng.standard_normal((8, 4))
    own[:, 0], theirs[:, 0] = 0.0, [2, 0, 0, 0, 0, 0, 0, 0]
    guess, _ = answered({"hospital": own, "clinic": theirs}, ("hospital",), "clinic", batch_size=8)
    assert guess.status is Status.PARTIAL
    assert "not shown by anything else" in guess.why


def test_cells_that_are_only_bounded_are_no_recovery():
    rng = np.random.default_rng(0)
    tables = {
        "hospital": np.column_stack([binary(40, 6, 1), rng.standard_normal((40, 1))]),
        "clinic": np.column_stack([np.repeat(np.eye(6)[:5], 2, axis=0), rng.standard_normal((10, 1))]),
    }
    guess, share = answered(tables, ("hospital",), "clinic", batch_size=10)
    assert guess.status is Status.PARTIAL
    assert share < 1
    assert "only bounded" in guess.why


def test_bounds_allow_for_the_error_of_the_products():
    rows = np.vstack([np.eye(4, dtype=np.int64), np.ones((1, 4), dtype=np.int64)])[:4]
    z = np.array([1.0, -2.0, 0.5, 3.0])
    off = (rows.T @ z + 0.02)[:, None]
    assert not bounds_from_binary(rows, off, np.array([z @ z]), 0.01).determined
    assert bounds_from_binary(rows, off, np.array([z @ z]), 1e-6).determined


def test_cells_kept_of_several_tables_are_said_to_be_those_of_the_tables_found():
    """α of few columns and many rows has more tables than two, and the search ends with the second."""
    tables = {"hospital": binary(40, 3, 1), "clinic": binary(12, 3, 8)}
    for seed in range(10):
        tables["clinic"] = binary(12, 3, seed)
        guess, _ = answered(tables, ("hospital",), "clinic", batch_size=12, learning_rate=0.02)
        if guess.candidates:
            break
    assert guess.status is Status.UNDETERMINED
    assert "agree in the 2 found" in guess.why


@pytest.mark.parametrize("seed", seeds(30))
def test_recovered_means_every_cell(seed):
    """Random codes, sizes and ways of training, seen by a party or by the server."""
    rng = np.random.default_rng(seed)
    code = list(CODES)[seed % len(CODES)]
    n_rows, n_columns, density = int(rng.integers(2, 11)), int(rng.integers(1, 14)), rng.uniform(0.15, 0.6)
    drawn = [(rng.random((count, n_columns)) < density).astype(float) for count in (30, n_rows)]
    own, theirs = (CODES[code](bits, rng) for bits in drawn)
    by_server = rng.random() < 0.5
    local = rng.random() < 0.25
    stable = {"learning_rate": min(0.5, 2.0 / max(1.0, float(np.linalg.norm(theirs, 2) ** 2))), "fraction_bits": 46}
    changes = LOCAL_STEPS if local else stable if by_server else {}
    guess, share = answered(
        of_server(theirs) if by_server else {"hospital": own, "clinic": theirs},
        ("hub",) if by_server else ("hospital",),
        "clinic+lab" if by_server else "clinic",
        batch_size=max(1, n_rows // 2) if local else n_rows,
        seed=seed,
        **changes,
    )
    assert guess.status is not Status.RECOVERED or share == 1.0, (code, guess.why)
