"""Records of whole numbers beyond 0 and 1, and of two values after standardising."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.affine_fit import AffineFit
from fedleak.attacks.binary.binary_records import BinaryRecords, solve_group
from fedleak.attacks.binary.binary_table import Outcome
from fedleak.attacks.binary.nearest_products import nearest_products
from fedleak.attacks.binary.observed_products import Products
from fedleak.attacks.binary.own_coding import Coding
from fedleak.attacks.binary.table_search import Budget
from fedleak.attacks.binary.whole_number_table import whole_number_table
from fedleak.core.adversary import Secret
from fedleak.core.attack import Status
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from horizontal import federation, train, view_of
from random_cases import seeds

TARGET = Secret(BinaryRecords.produces, "clinic")


def attacked(own: np.ndarray, theirs: np.ndarray, seed: int = 0, coalition=("hospital",)):
    rate = 0.4 / max(float(np.linalg.eigvalsh(own.T @ own)[-1]), float(np.linalg.eigvalsh(theirs.T @ theirs)[-1]))
    settings = HorizontalLogisticSettings(
        rounds=3 * own.shape[1], batch_size=len(theirs), shuffled=("hospital",), learning_rate=rate
    )
    result = train(federation({"hospital": own, "clinic": theirs}, settings, seed), seed=seed)
    view = view_of(result, coalition, TARGET)
    return BinaryRecords().run(view, rng=np.random.default_rng(seed)), result.truth.of(TARGET).values


def same_rows(guess: np.ndarray, truth: np.ndarray) -> bool:
    def ordered(rows: np.ndarray) -> list[tuple[float, ...]]:
        return sorted(map(tuple, np.round(rows, 6).tolist()))

    return guess.shape == truth.shape and ordered(guess) == ordered(truth)


def genotypes(m: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.binomial(2, 0.4, (m, d)).astype(float)


def flags(m: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, (m, d)).astype(float)


def standardised(own: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By the mean and deviation over all rows, as a federation agrees on them."""
    whole = np.vstack([own, theirs])
    mean, deviation = whole.mean(axis=0), whole.std(axis=0)
    return (own - mean) / deviation, (theirs - mean) / deviation


def test_genotypes_are_recovered_and_proved():
    rng = np.random.default_rng(1)
    guess, truth = attacked(genotypes(60, 20, rng), genotypes(9, 20, rng))
    assert guess.status is Status.RECOVERED, guess.why
    assert "whole numbers" in guess.why
    assert same_rows(guess.values, truth)
    assert guess.certificate


def test_flags_are_recovered_as_they_were_standardised():
    rng = np.random.default_rng(2)
    guess, truth = attacked(*standardised(flags(60, 14, rng), flags(8, 14, rng)))
    assert guess.status is Status.RECOVERED, guess.why
    assert same_rows(guess.values, truth)


def test_flags_name_a_column_of_numbers_beside_them_and_one_of_plus_and_minus_one():
    rng = np.random.default_rng(3)
    own, theirs = standardised(flags(60, 14, rng), flags(8, 14, rng))
    own[:, 0], theirs[:, 0] = rng.standard_normal(60), rng.standard_normal(8)
    own[:, 1], theirs[:, 1] = 2 * flags(60, 1, rng)[:, 0] - 1, 2 * flags(8, 1, rng)[:, 0] - 1
    guess, truth = attacked(own, theirs)
    assert guess.status is Status.RECOVERED, guess.why
    assert same_rows(np.round(guess.values, 4), np.round(truth, 4))


def test_plus_and_minus_one_leave_the_signs_of_rows_open():
    rng = np.random.default_rng(4)
    guess, _ = attacked(2 * flags(60, 14, rng) - 1, 2 * flags(8, 14, rng) - 1)
    assert guess.status is not Status.RECOVERED


def test_columns_with_other_values_than_the_own_rows_show_are_not_recovered():
    """The clinic holds a third value where the hospital has two."""
    rng = np.random.default_rng(5)
    own, theirs = standardised(flags(60, 14, rng), flags(8, 14, rng))
    theirs[0] = 0.3
    guess, _ = attacked(own, theirs)
    assert guess.status is not Status.RECOVERED


@pytest.mark.parametrize("seed", seeds(6))
def test_what_is_called_recovered_is(seed):
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(2, 9)), int(rng.integers(3, 16))
    made = genotypes if rng.random() < 0.5 else flags
    own, theirs = made(40, d, rng), made(m, d, rng)
    if made is flags:
        own, theirs = standardised(own, theirs)
    elif rng.random() < 0.3:
        theirs[:, 0] += rng.choice([0.5, 1.0, 3.0])
    guess, truth = attacked(own, theirs, seed)
    if guess.status is Status.RECOVERED:
        assert same_rows(guess.values, truth), (seed, guess.why)


@pytest.mark.parametrize("seed", range(20))
def test_tables_of_genotypes_by_the_lattice_alone(seed):
    table = genotypes(16, 32, np.random.default_rng(seed)).astype(np.int64)
    found = whole_number_table(table.T @ table, 16, Budget())
    assert found.outcome is Outcome.UNIQUE, found.why
    assert same_rows(found.tables[0], table)


def test_an_even_table_generates_no_whole_lattice():
    table = 2 * flags(5, 12, np.random.default_rng(0)).astype(np.int64)
    assert whole_number_table(table.T @ table, 5, Budget()).outcome is Outcome.UNDETERMINED


@pytest.mark.parametrize("seed", seeds(8))
def test_noisy_products_are_decoded_to_those_of_the_table_or_to_none(seed):
    """At a standard error of 0.15 one of 210 entries is off by more than a half in every fourth table or so."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2, (8, 20))
    counts = table.T @ table
    noise = 0.15 * rng.standard_normal(counts.shape)
    found = nearest_products(counts + (noise + noise.T) / np.sqrt(2), 8, 0.15)
    assert found is None or np.array_equal(found, counts), seed


def test_noise_that_entries_cannot_be_rounded_through_is_taken_away():
    rng = np.random.default_rng(3)
    decoded = rounded = 0
    for _ in range(20):
        table = rng.integers(0, 2, (8, 20))
        counts = table.T @ table
        noise = 0.15 * rng.standard_normal(counts.shape)
        noisy = counts + (noise + noise.T) / np.sqrt(2)
        found = nearest_products(noisy, 8, 0.15)
        decoded += found is not None and np.array_equal(found, counts)
        rounded += np.array_equal(np.rint(noisy), counts)
    assert decoded >= 17 > rounded


def test_too_few_columns_tell_no_noise_from_the_table():
    assert nearest_products(np.eye(5), 5, 0.1) is None


def test_records_under_noise_are_given_and_not_promised():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (8, 20))
    fit = AffineFit(np.zeros((20, 21)), 21, 21, 60, 1.0, 0.2, 1.0)
    noise = 0.1 * rng.standard_normal((20, 20))
    group = Products(8, fit, table.T @ table + (noise + noise.T) / np.sqrt(2), table.sum(axis=0).astype(float), False)
    coding = Coding(np.ones(20, bool), np.ones(20, bool), np.zeros(20, bool), np.zeros(20), np.ones(20))
    solved = solve_group(group, coding, Budget())
    assert solved.status is Status.PARTIAL
    assert same_rows(solved.rows[:, :-1], table)
