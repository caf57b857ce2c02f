"""Matrix products of powers, on shapes that exercise every way of evaluating them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.crypto.bigint import Mpz
from fedleak.crypto.few_exponents import group_row
from fedleak.crypto.multi_exponentiation import (
    BLOCK_COLUMNS,
    BLOCK_ROWS,
    MAX_TABLE,
    as_word_matrix,
    choose_plan,
    matrix_product,
    signed_digits,
)
from fedleak.crypto.unit_group import UnitGroup

N = 1_000_003 * 998_244_353


def by_definition(matrix: np.ndarray, ciphertexts: list[int]) -> list[int]:
    results = []
    for row in matrix.tolist():
        result = 1
        for scalar, ciphertext in zip(row, ciphertexts, strict=True):
            result = result * pow(ciphertext, scalar, N**2) % N**2
        results.append(result)
    return results


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "bits"),
    [
        (1, 1, 1),
        (1, 40, 43),
        (3, 17, 62),
        (BLOCK_ROWS + 5, 9, 20),
        (2, BLOCK_COLUMNS + 3, 5),
        (200, 30, 30),
        (2, 3, 400),
    ],
)
def test_product_by_definition(n_rows: int, n_columns: int, bits: int) -> None:
    rng = np.random.default_rng(bits)
    scalars = [int.from_bytes(rng.bytes(64), "big") >> (512 - bits) for _ in range(n_rows * n_columns)]
    signs = rng.choice([-1, 0, 1], n_rows * n_columns, p=[0.4, 0.2, 0.4]).tolist()
    flat = [scalar * sign for scalar, sign in zip(scalars, signs, strict=True)]
    matrix = np.array(flat, dtype=np.int64 if bits < 63 else object).reshape(n_rows, n_columns)
    ciphertexts = [int(value) for value in rng.integers(1, 1_000_000, n_columns)]
    product = matrix_product(UnitGroup(Mpz(N)), matrix, [Mpz(c) for c in ciphertexts])
    assert [int(value) for value in product] == by_definition(matrix, ciphertexts)


@pytest.mark.parametrize("n_columns", [1, 2, 40, BLOCK_COLUMNS + 3])
def test_rows_of_few_scalars_are_grouped_and_the_product_is_the_same(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    flags = np.array([rng.random(n_columns) < share for share in (0.0, 0.05, 0.5, 0.95, 1.0)])
    categories = rng.integers(-1, 3, (3, n_columns)) * 2**40 - 12_345
    numbers = rng.integers(-(2**43), 2**43, (2, n_columns))
    matrix = np.concatenate([flags, 2 * flags - 1, flags * 2**43 - 987_654_321, numbers, categories]).astype(np.int64)
    ciphertexts = [int(value) for value in rng.integers(1, 1_000_000, n_columns)]
    product = matrix_product(UnitGroup(Mpz(N)), matrix, [Mpz(c) for c in ciphertexts])
    assert [int(value) for value in product] == by_definition(matrix, ciphertexts)


def test_a_row_is_grouped_where_that_costs_less_than_its_digits() -> None:
    flag = np.array([7] * 38 + [-5] * 2)
    grouping = group_row(flag, worth=30.0)
    assert grouping is not None
    assert grouping.base == 7
    assert {power: places.tolist() for power, places in grouping.places.items()} == {-12: [38, 39]}
    assert group_row(flag, worth=10.0) is None
    assert group_row(np.arange(100), worth=1e9) is None


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    long_values=st.lists(st.integers(-(2**300), 2**300), max_size=2),
    width=st.integers(2, 12),
)
def test_digits_are_odd_short_and_sum_to_the_number(values: list[int], long_values: list[int], width: int) -> None:
    numbers = values + long_values
    matrix = as_word_matrix(np.array([numbers], dtype=object))
    sums = [0] * len(numbers)
    last = [-width] * len(numbers)
    for digits in signed_digits(matrix, width):
        for column, digit in zip(digits.columns.tolist(), digits.values.tolist(), strict=True):
            assert digit % 2 == 1
            assert abs(digit) < 2 ** (width - 1)
            assert digits.position >= last[column] + width
            last[column] = digits.position
            sums[column] += digit << digits.position
    assert sums == numbers


@pytest.mark.parametrize("bits", [1, 43, 62, 8191])
@pytest.mark.parametrize("n_rows", [1, 12, 1000])
@pytest.mark.parametrize("n_columns", [1, 256, 1024])
def test_plans_cover_every_position_within_the_table(n_rows: int, n_columns: int, bits: int) -> None:
    plan = choose_plan(n_rows, n_columns, bits)
    assert plan.n_shifts * plan.n_levels >= bits + 1
    assert plan.n_shifts * n_columns <= MAX_TABLE


def test_more_rows_share_more_of_the_table() -> None:
    assert choose_plan(1, 256, 43).n_shifts < choose_plan(12, 256, 43).n_shifts < choose_plan(400, 256, 43).n_shifts
