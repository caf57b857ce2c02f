"""Names of classes, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.best_names import NAMELESS, best_names


def test_parts_get_the_names_under_which_most_rows_are_right() -> None:
    names, right = best_names(np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 0, 0, 0, 1]))
    assert (names.tolist(), right) == ([1, 0], 4)


def test_names_are_all_different_even_where_two_parts_are_of_one_class() -> None:
    names, right = best_names(np.array([0, 0, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 0, 1]))
    assert (names.tolist(), right) == ([1, 0], 4)


@pytest.mark.parametrize("silent", [[], [-1]])
def test_rows_in_no_part_are_not_counted_and_a_part_too_many_is_nameless(silent: list[int]) -> None:
    names, right = best_names(np.array([0, 1, 2, *silent]), np.array([0, 0, 1, *[1 for _ in silent]]))
    assert sorted(names.tolist()) == [NAMELESS, 0, 1]
    assert names[2] == 1
    assert right == 2


def test_nothing_told_names_nothing() -> None:
    names, right = best_names(np.array([-1, -1]), np.array([0, 1]))
    assert (len(names), right) == (0, 0)


@pytest.mark.parametrize(("parts", "right"), [([2, 2, 0, 0, 1, 1], 6), ([2, 2, 0, 0, 1, 0], 5), ([0] * 6, 2)])
def test_names_of_three_classes_are_free(parts: list[int], right: int) -> None:
    assert best_names(np.array(parts), np.array([0, 0, 1, 1, 2, 2]))[1] == right
