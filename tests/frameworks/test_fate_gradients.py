"""Gradients of FATE's SecureBoost come in blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frameworks.fate_messages import MODULUS, written_vector

from fedleak.frameworks.fate.fate_secureboost_inside import objective_of, plain
from fedleak.frameworks.job import Held

IDS = np.arange(100, 105)


class Vector:
    def __init__(self, values):
        self.values = np.array(values, dtype=np.float32)

    def __getstate__(self):
        return written_vector(self.values)


class Frame:
    """As FATE's: blocks by their number, in any order."""

    def __init__(self, *blocks):
        self.block_table = self
        self._blocks = blocks

    def collect(self):
        return reversed(list(enumerate(self._blocks)))


def test_rows_and_ciphertexts_of_all_blocks_in_order():
    first = (["000000000000", "000000000001"], None, Vector([0.5, -0.5]), Vector([0.25, 0.25]))
    second = (["000000000004"], None, Vector([-0.75]), Vector([0.125]))
    found = plain("en_gh", Frame(first, second), IDS)
    assert found["rows"].tolist() == [100, 101, 104]
    numbers = zip(found["values"].signs, found["values"].values, found["values"].exponents, strict=True)
    opened = [(int(sign) * int(value) - 1) // MODULUS * 16.0 ** int(exponent) for sign, value, exponent in numbers]
    assert opened == [0.5, -0.5, -0.75, 0.25, 0.25, 0.125]


@pytest.mark.parametrize(
    ("labels", "told"),
    [([0, 1, 1], ("logistic", 2)), ([0, 1, 2], ("softmax", 3)), ([0.5, 1.0, 2.0], ("squared", None))],
)
def test_what_is_learnt_follows_from_the_labels(labels, told):
    holder = Held("bank", ("a",), IDS[:3], np.zeros((3, 1)), np.array(labels))
    assert objective_of(holder) == told
