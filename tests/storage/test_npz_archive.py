"""Archives from strangers: nothing is allocated that is not there."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from fedleak.core.errors import DataError, FileFormatError
from fedleak.data.sources import load
from fedleak.models.interpret import load_model
from fedleak.storage.npz_archive import read_archive

LIMIT = 1 << 20


def member(shape: str, kind: str = "<f8", data: bytes = b"") -> bytes:
    head = io.BytesIO()
    npy.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1,)})
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return head.getvalue()[:8] + len(text).to_bytes(2, "little") + text.encode() + data


def archive(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members:
            packed.writestr(name, content)
    return path


FORGED = {
    "cells that are not there": member("(134217728,)"),
    "a shape that wraps around": member("(4611686018427387904, 4)"),
    "no cells in endless columns": member("(0, 4611686018427387904)"),
    "a length below zero": member("(-1,)"),
    "pickled objects": member("(1,)", "|O", b"\x80\x04N."),
    "cells without a size": member("(9223372036854775807,)", "<U0"),
    "structures": member("(1,)", "|V8", bytes(8)),
    "texts beyond Unicode": member("(1,)", "<U1", b"\xff\xff\xff\x7f"),
    "halves of pairs": member("(1,)", "<U1", b"\x00\xd8\x00\x00"),
    "surplus bytes": member("(1,)", "<f8", bytes(9)),
    "no header": b"PK",
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_declared_must_be_there(forged, tmp_path):
    path = archive(tmp_path / "forged.npz", ("x.npy", FORGED[forged]))
    with pytest.raises(FileFormatError, match=r"forged\.npz must be a NumPy \.npz archive without pickled objects"):
        read_archive(path, LIMIT)


def test_a_small_model_file_that_declares_a_gigabyte_is_refused(tmp_path):
    """246 bytes once made a MemoryError."""
    path = archive(tmp_path / "model.npz", ("header.npy", member("(1073741824,)", "|u1")))
    assert path.stat().st_size < 300
    with pytest.raises(FileFormatError, match=r"declares 1,073,741,824 bytes"):
        load_model(path)


@pytest.mark.parametrize(
    "header", [b'{"kind": "linear", "config": {"version": {"a": [1]}}}', b"[" * 10_000, b"\xff", b"{}"]
)
def test_a_header_of_a_model_is_strict(header, tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, header=np.frombuffer(header, dtype=np.uint8))
    with pytest.raises(FileFormatError, match=r"model\.npz: a model"):
        load_model(path)


def test_a_zip_with_an_odd_flag_or_one_name_twice_is_refused(tmp_path):
    good = member("(1,)", "<f8", bytes(8))
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = archive(tmp_path / "twice.npz", ("x.npy", good), ("x.npy", good))
    once = bytearray(archive(tmp_path / "odd.npz", ("x.npy", good)).read_bytes())
    once[once.index(b"PK\x01\x02") + 8] |= 1  # says that it is encrypted
    (tmp_path / "odd.npz").write_bytes(once)
    for path in (twice, tmp_path / "odd.npz"):
        with pytest.raises(FileFormatError, match="must be a NumPy"):
            read_archive(path, LIMIT)


def test_what_numpy_writes_is_read_the_same(tmp_path):
    wanted = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "c": np.array(["é", ""]),
    }
    np.savez_compressed(tmp_path / "good.npz", **wanted)
    found = read_archive(tmp_path / "good.npz", LIMIT)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_a_number_of_four_hundred_digits_is_one_clear_error(tmp_path):
    (tmp_path / "table.csv").write_text(f"a,b\n{'9' * 400},1\n2,3\n")
    with pytest.raises(DataError, match="column 'a' must hold numbers up to"):
        load("table.csv", folder=tmp_path)
