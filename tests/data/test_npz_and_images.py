from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data_files import require_data
from fedleak.core.errors import DataError
from fedleak.data import DataSpec, decode, load, load_images, load_table
from fedleak.data.sources import text_files


def save(folder: Path, **arrays: np.ndarray) -> str:
    np.savez_compressed(folder / "set.npz", **arrays)  # type: ignore[arg-type]
    return str(folder / "set.npz")


def pictures(n: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (n, *shape), dtype=np.uint8)


def test_images_with_a_test_part(tmp_path: Path) -> None:
    x_train, x_test = pictures(5, 4, 6), pictures(2, 4, 6)
    source = save(tmp_path, x_train=x_train, y_train=np.arange(5), x_test=x_test, y_test=np.array([7, 8]))
    everything, test = load_images(source), load_images(source, part="test")
    assert everything.pixels.shape == (7, 4, 6, 1)
    assert test.ids.tolist() == [5, 6]
    assert np.array_equal(test.pixels[..., 0], x_test)
    assert test.labels is not None
    assert test.labels.tolist() == [7, 8]
    assert load_images(source, part="train", max_rows=3).ids.tolist() == [0, 1, 2]
    assert everything.columns[:2] == ("r0c0ch0", "r0c1ch0")


def test_features_are_shares_of_the_peak(tmp_path: Path) -> None:
    x = pictures(3, 2, 2, 3)
    images = load_images(save(tmp_path, x=x, y=np.array([1, 0, 1], dtype=np.uint8)))
    held = images.rows(np.array([2, 0]))
    assert np.array_equal(held.features, x[[2, 0]] / 255)
    assert held.ids.tolist() == [2, 0]
    assert images.of_classes((1,)).ids.tolist() == [0, 2]
    with pytest.raises(DataError, match=r"classes must be among \[0, 1\]"):
        images.of_classes((2,))


def test_bundled_digits() -> None:
    digits = load_images("sklearn:digits", max_rows=10)
    features = digits.rows(np.arange(10)).features
    assert features.shape == (10, 8, 8, 1)
    assert features.max() == 1.0


def test_wrong_image_requests(tmp_path: Path) -> None:
    plain = save(tmp_path, x=pictures(3, 2, 2))
    with pytest.raises(DataError, match=r"no test images of its own"):
        load_images(plain, part="test")
    with pytest.raises(DataError, match=r'Did you mean "train"'):
        load_images(plain, part="trian")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"max_rows must be at least 1"):
        load_images(plain, max_rows=0)
    with pytest.raises(DataError, match=r"has none"):
        load_images(plain).of_classes((1,))
    with pytest.raises(DataError, match=r"must be bytes in 3 or 4 dimensions"):
        load_images(save(tmp_path, x=np.zeros((3, 4))))
    with pytest.raises(DataError, match=r"vector of class numbers"):
        load_images(save(tmp_path, x=pictures(3, 2, 2), y=np.zeros((3, 2))))
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"must be in an .npz file"):
        load_images(str(tmp_path / "t.csv"))


@pytest.mark.usefixtures("no_folder")
def test_a_public_image_set_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"It is MNIST.*70,000 pictures.*CC BY-SA 3.0.*as mnist.npz"):
        load_images("mnist")


def test_a_table_from_an_archive(tmp_path: Path) -> None:
    x, y = np.array([[0, 1], [1, 1], [1, 0]]), np.array([[0.5, 1], [1.5, 2], [2.5, 3]])
    source = save(tmp_path, x=x, y=y, marker=np.array(["m1", "m2"]), env=np.array(["dry", "wet"]))
    table = load(source, target="y_wet")
    assert table.names == ("m1", "m2")
    assert table.target is not None
    assert table.target.values.tolist() == [1, 2, 3]
    assert load(source).target is None
    assert load(source, drop=("m1",)).names == ("m2",)
    with pytest.raises(DataError, match=r'Did you mean "y_wet"'):
        load(source, target="y_wett")


def test_images_as_a_table_of_pixels(tmp_path: Path) -> None:
    x = pictures(3, 2, 2)
    source = save(tmp_path, x=x, y=np.array([0, 1, 0]))
    table = load_table(DataSpec(source=source, scaling="none"))
    assert table.columns == ("r0c0", "r0c1", "r1c0", "r1c1")
    assert np.array_equal(table.values, x.reshape(3, 4))
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 0]


def test_archives_that_lack_something(tmp_path: Path) -> None:
    for arrays, message in (
        ({"z": np.zeros(3)}, r"must hold the arrays x and y.*it holds z"),
        ({"x": np.zeros(3)}, r"rows first; got 1 dimensions"),
        ({"x": np.array([["a"]])}, r"must be numbers"),
        ({"x": np.zeros((3, 2)), "y": np.zeros(2)}, r"a label for each of the 3 rows; got 2"),
        ({"x_train": np.zeros((3, 2)), "x_test": np.zeros((3, 4))}, r"rows of one shape"),
    ):
        with pytest.raises(DataError, match=message):
            load(save(tmp_path, **arrays))
    with pytest.raises(DataError, match=r"holds no labels"):
        load(save(tmp_path, x=np.zeros((3, 2))), target="y")


def _archive(folder: Path, name: str, content: bytes) -> str:
    with zipfile.ZipFile(folder / "hostile.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return str(folder / "hostile.npz")


def _forged_array(shape: str, version: bytes = b"\x01\x00") -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + bytes(16)


def test_hostile_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    for name, content, message in (
        ("x.npy", pickled.getvalue(), r"without pickled objects"),
        ("x.npy", _forged_array("(1 << 60,)"), r"must be a NumPy"),
        ("x.npy", _forged_array("(4611686018427387904, 4)"), r"an array of shape \(4611686018427387904, 4\)"),
        ("x.npy", _forged_array("(2, 1)", version=b"\x09\x00"), r"must be a NumPy"),
        ("x.npy", b"nothing", r"must be a NumPy"),
        ("x.txt", b"text", r"which is no .npy array"),
    ):
        with pytest.raises(DataError, match=message):
            load(_archive(tmp_path, name, content))
    assert load(_archive(tmp_path, "x.npy", _forged_array("(2, 1)"))).n_rows == 2  # the forger's honest case
    (tmp_path / "plain.npz").write_bytes(b"not a zip")
    with pytest.raises(DataError, match=r"must be a NumPy .npz archive"):
        load(str(tmp_path / "plain.npz"))
    monkeypatch.setattr(text_files, "MAX_FILE_BYTES", 100_000)
    with pytest.raises(DataError, match=r"once decompressed, where at most 100,000 are read"):
        load(save(tmp_path, x=np.zeros((100_000, 1))))


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = Path(save(tmp_path, x=np.random.default_rng(1).random((50, 4))))
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"must be a NumPy .npz archive"):
        load(str(path))


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"), [("yale_faces", (165, 32, 32, 1), 15), ("cifar10_subset", (12000, 32, 32, 3), 10)]
)
def test_public_image_sets(name: str, shape: tuple[int, ...], n_classes: int) -> None:
    require_data(name)
    images = load_images(name)
    assert images.pixels.shape == shape
    assert images.labels is not None
    assert len(np.unique(images.labels)) == n_classes


def test_mnist_parts_and_classes() -> None:
    require_data("mnist")
    train = load_images("mnist", part="train")
    assert train.pixels.shape == (60000, 28, 28, 1)
    assert train.labels is not None
    assert np.bincount(train.labels)[:2].tolist() == [5923, 6742]


def test_wheat_markers_are_binary() -> None:
    require_data("wheat_dart_markers")
    table = load_table(DataSpec(source="wheat_dart_markers", task="none", scaling="none"))
    assert table.values.shape == (599, 1279)
    assert {encoding.kind.value for encoding in table.encoding} == {"binary"}


def test_pixels_are_divided_by_their_peak_whatever_the_data(tmp_path: Path) -> None:
    """A dark corner is not stretched to white, as the scaling of columns would."""
    x = pictures(6, 3, 4) // 2
    table = load_table(DataSpec(source=save(tmp_path, x=x, y=np.arange(6) % 2), scaling="pixels"))
    assert table.pixels is not None
    assert table.pixels.shape == (3, 4, 1)
    assert np.array_equal(table.values, x.reshape(6, -1) / 255)
    assert np.array_equal(decode(table)[0].values, x[:, 0, 0])
    unit = load_table(DataSpec(source=str(tmp_path / "set.npz"), scaling="pixels+max-row-norm"))
    assert unit.max_row_norm == pytest.approx(1.0)
    assert unit.values[0] == pytest.approx(table.values[0] / table.max_row_norm)


def test_a_table_of_numbers_has_no_pixels(tmp_path: Path) -> None:
    numbers = save(tmp_path, x=np.zeros((3, 2, 2)), y=np.arange(3))
    assert load(numbers).pixels is None
    with pytest.raises(DataError, match="must be of whole images"):
        load_table(DataSpec(source=numbers, task="multiclass", scaling="pixels"))
    assert load(save(tmp_path, x=pictures(3, 2, 2), y=np.arange(3)), drop=("r0c0",)).pixels is None
