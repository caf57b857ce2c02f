"""Scaling in parts gives what scaling the whole table does, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.knowledge import ColumnKind
from fedleak.data import scaling
from fedleak.data.column_encoding import ColumnEncoding
from fedleak.data.scaling import largest_row_norm, scale_columns


def table(n_columns: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    found = rng.lognormal(sigma=3.0, size=(97, n_columns))
    found[rng.random(found.shape) < 0.05] = np.nan
    found[:, 0] = 7.0
    return found


@pytest.mark.parametrize("how", ["none", "standard", "minmax", "standard+max-row-norm", "minmax+max-row-norm"])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 11])
def test_in_parts_as_at_once(how, n_columns, monkeypatch):
    encodings = [ColumnEncoding(f"c{i}", f"c{i}", ColumnKind.NUMERIC, 0.0, 1.0) for i in range(n_columns)]
    whole, parts = table(n_columns), table(n_columns)
    at_once = scale_columns(whole, encodings, how)
    monkeypatch.setattr(scaling, "CELLS_AT_ONCE", 40)
    assert scale_columns(parts, encodings, how) == at_once
    assert whole.tobytes() == parts.tobytes()


def test_the_table_is_what_its_encodings_say():
    values, raw = table(5), table(5)
    encodings = [ColumnEncoding(f"c{i}", f"c{i}", ColumnKind.NUMERIC, 0.0, 1.0) for i in range(5)]
    found = scale_columns(values, encodings, "standard+max-row-norm")
    shown = np.nan_to_num(values, nan=0.0)
    assert np.linalg.norm(shown, axis=1).max() == pytest.approx(1.0)
    assert largest_row_norm(shown) == pytest.approx(1.0)
    for column, encoding in enumerate(found):
        assert encoding.decode(values[:, column]) == pytest.approx(raw[:, column], nan_ok=True)


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_norms_of_tiny_and_huge_rows(size, monkeypatch):
    monkeypatch.setattr(scaling, "CELLS_AT_ONCE", 4)
    assert largest_row_norm(size * np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])) == pytest.approx(5 * size)
