"""Image sets: pixels rows first, as (image, row, column, channel)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray, Value, freeze
from fedleak.core.errors import DataError, nearest
from fedleak.core.whole.federation import Slice
from fedleak.data.sources import source_file
from fedleak.data.sources.binary_files import PEAK_BYTE, pixel_names, read_arrays, samples
from fedleak.data.sources.bundled import BUNDLED_PIXELS, BUNDLED_TARGET, bundled_frame
from fedleak.data.sources.catalogue import not_found

PartName = Literal["all", "train", "test"]
_DIGITS = "sklearn:digits"


@dataclass(frozen=True, eq=False)
class ImageSet(Value):
    """Whole-number pixels from 0 to ``peak``. A party's features are pixels / peak, from 0 to 1."""

    source: str
    pixels: AnyArray  # (images, rows, columns, channels)
    labels: IntArray | None
    ids: IntArray  # row numbers in the source
    peak: int = PEAK_BYTE
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or len(self.pixels) != len(self.ids):
            raise ValueError(f"ImageSet pixels must be (images, rows, columns, channels); got {self.pixels.shape}")
        for name in ("pixels", "labels", "ids"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def n_rows(self) -> int:
        return len(self.ids)

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each pixel value of an image."""
        return pixel_names(self.pixels.shape[1:])

    def rows(self, rows: IntArray, *, with_labels: bool = True) -> Slice:
        """The given images (by position) as a party's slice."""
        labels = self.labels[rows] if with_labels and self.labels is not None else None
        return Slice(self.ids[rows], self.pixels[rows].astype(np.float64) / self.peak, labels)

    def take(self, rows: IntArray) -> ImageSet:
        """Some of the images, by position."""
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, pixels=self.pixels[rows], labels=labels, ids=self.ids[rows])

    def of_classes(self, classes: tuple[int, ...]) -> ImageSet:
        """The images of these classes, in their order."""
        if self.labels is None:
            raise DataError(f"images must have labels to choose classes from; {self.source} has none")
        known = np.unique(self.labels)
        for label in classes:
            if label not in known:
                raise DataError(f"classes must be among {known.tolist()} in {self.source}; got {label!r}")
        return self.take(np.flatnonzero(np.isin(self.labels, classes)).astype(np.int64))


def load_images(
    source: str, *, part: PartName = "all", max_rows: int | None = None, folder: Path | None = None
) -> ImageSet:
    """Images from an .npz file, from a public name in FEDLEAK_DATA, or "sklearn:digits".

    ``part`` keeps the source's own training or test images; ``max_rows`` keeps the first so many.
    """
    if part not in get_args(PartName):
        raise DataError(f'part must be "all", "train" or "test"; got {part!r}{nearest(part, get_args(PartName))}')
    if max_rows is not None and max_rows < 1:
        raise DataError(f"max_rows must be at least 1; got {max_rows}")
    images, n_train = _bundled_digits() if source == _DIGITS else _from_archive(source, folder)
    if part == "test" and n_train == images.n_rows:
        raise DataError(f'part must be "all" or "train" for {source}, which has no test images of its own; got "test"')
    start, stop = {"all": (0, images.n_rows), "train": (0, n_train), "test": (n_train, images.n_rows)}[part]
    if max_rows is not None:
        stop = min(stop, start + max_rows)
    return images.take(np.arange(start, stop))


def _from_archive(source: str, folder: Path | None) -> tuple[ImageSet, int]:
    path = source_file(source, folder)
    if path is None:
        raise not_found(source)
    if path.suffix != ".npz":
        raise DataError(f'images must be in an .npz file or "{_DIGITS}"; got {source!r}, which is {path.name}')
    arrays = read_arrays(path)
    pixels, labels, n_train = samples(path, arrays)
    if pixels.ndim not in (3, 4) or pixels.dtype != np.uint8:
        raise DataError(
            f"images of {path} must be bytes in 3 or 4 dimensions (image, row, column, channel); "
            f"got {pixels.ndim} dimensions of {pixels.dtype}. A table of numbers is loaded with load()"
        )
    if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iu"):
        raise DataError(f"labels of {path} must be a vector of class numbers; got {labels.ndim}-d {labels.dtype}")
    return ImageSet(
        source=source,
        pixels=pixels if pixels.ndim == 4 else pixels[..., np.newaxis],
        labels=None if labels is None else labels.astype(np.int64),
        ids=np.arange(len(pixels)),
        class_names=tuple(str(name) for name in arrays.get("class_names", ())),
    ), n_train


def _bundled_digits() -> tuple[ImageSet, int]:
    table = bundled_frame("digits")
    shape, peak = BUNDLED_PIXELS["digits"].shape, BUNDLED_PIXELS["digits"].peak
    labels = table.pop(BUNDLED_TARGET).to_numpy()
    pixels = table.to_numpy().astype(np.uint8).reshape(-1, *shape)
    return ImageSet(_DIGITS, pixels, labels, np.arange(len(pixels)), peak=peak), len(pixels)
