"""A table dealt out to the parties of an experiment."""

from __future__ import annotations

import numpy as np

from fedleak.core.steps import Role
from fedleak.papers.dealing import deal_columns

VALUES = np.arange(12.0).reshape(4, 3)
LABELS = np.array([0, 1, 1, 0])


def test_the_first_party_is_active_and_alone_has_the_labels():
    first, second = deal_columns(VALUES, "abc", LABELS, {"one": (2,), "two": (0, 1)})
    assert (first.role, second.role) == (Role.ACTIVE, Role.PASSIVE)
    assert (first.columns, second.columns) == (("c",), ("a", "b"))
    np.testing.assert_array_equal(first.train.features, VALUES[:, [2]])
    np.testing.assert_array_equal(first.train.labels, LABELS)
    assert second.train.labels is None
    assert first.test is None


def test_rows_keep_their_positions_as_ids_and_an_arbiter_has_no_columns():
    rows, held_out = np.array([3, 0]), np.array([2])
    shares = {"one": np.array([0]), "two": np.array([1, 2])}
    first, second, third = deal_columns(VALUES, "abc", LABELS, shares, rows=rows, held_out=held_out, arbiter="judge")
    np.testing.assert_array_equal(second.train.ids, rows)
    np.testing.assert_array_equal(second.train.features, VALUES[[3, 0], 1:])
    np.testing.assert_array_equal(first.train.labels, LABELS[[3, 0]])
    np.testing.assert_array_equal(first.test.labels, LABELS[[2]])
    np.testing.assert_array_equal(second.test.features, VALUES[[2], 1:])
    assert (third.name, third.role, third.columns) == ("judge", Role.ARBITER, ())
    assert third.train.features.shape == (2, 0)
