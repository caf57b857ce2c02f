"""Records of groups of many parties are parts of one array, and the same records as before."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, together
from fedleak.core.errors import PlaintextRangeError
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.protocols.averaging.record_truth import truth_of
from horizontal import binary, federation, train

TABLES = {f"p{number}": np.random.default_rng(number).random((3 + number, 2)) for number in range(8)}


def parties():
    return federation(TABLES, HorizontalLogisticSettings()).parties[:-1]


def rows_of(group) -> np.ndarray:
    return np.vstack([np.column_stack([party.train.features, party.train.labels]) for party in group])


@pytest.mark.parametrize("left_out", [None, *range(8)])
def test_all_but_one_of_many_parties(left_out):
    group = [party for place, party in enumerate(parties()) if place != left_out]
    owner = together(party.name for party in group)
    truth, expected = truth_of(parties()), rows_of(group)
    found = truth.of(Secret(SecretKind.RECORDS, owner)).values
    assert np.array_equal(np.sort(found, axis=0), np.sort(expected, axis=0))
    assert {tuple(row) for row in found} == {tuple(row) for row in expected}
    signed = np.column_stack([expected[:, :-1], 2 * expected[:, -1] - 1])
    products = truth.of(Secret(SecretKind.COLUMN_PRODUCTS, owner)).values
    np.testing.assert_allclose(products, expected[:, :-1].T @ signed, rtol=1e-12)


def test_they_share_one_array():
    truth = truth_of(parties())
    names = [party.name for party in parties()]
    groups = [together(name for name in names if name != other) for other in names]
    values = [truth.of(Secret(SecretKind.RECORDS, owner)).values for owner in groups]
    assert all(np.shares_memory(values[0], other) for other in values)


def test_training_that_diverges_says_so_and_names_a_rate():
    tables = {"hospital": binary(400, 5, 1), "clinic": binary(300, 5, 2)}
    with pytest.raises(
        PlaintextRangeError, match=r"must not diverge; got an update of .* A learning_rate of (\S+)"
    ) as told:
        train(federation(tables, HorizontalLogisticSettings(rounds=60, learning_rate=0.1)))
    rate = float(str(told.value).split("learning_rate of ")[1].split()[0])
    assert train(federation(tables, HorizontalLogisticSettings(rounds=60, learning_rate=rate)))
