"""Images cut into a grid of patches, one for each party: the vertical partition of pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass

import numpy as np

from fedleak.core.arrays import IntArray, read_only
from fedleak.core.errors import DataError
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party, Slice, setting
from fedleak.data.encoding import EncodedTable
from fedleak.data.images import ImageSet
from fedleak.data.partition.by_columns import ByColumns, UnassignedPolicy, check_labels_at
from fedleak.data.partition.shares import checked_parties, split_holdout, stratification


@dataclass(frozen=True)
class ByPatches:
    """Patches in reading order to the parties in theirs. With one party more than patches, the holder of the labels
    gets no patch."""

    parties: tuple[str, ...] = setting(MISSING, "the parties' names")
    n_patch_rows: int = setting(2, "patches from top to bottom")
    n_patch_columns: int = setting(2, "patches from left to right")

    def __post_init__(self) -> None:
        object.__setattr__(self, "parties", checked_parties(self.parties))
        if self.n_patch_rows < 1 or self.n_patch_columns < 1:
            raise DataError(f"a grid must have at least one patch; got {self.n_patch_rows} x {self.n_patch_columns}")
        if len(self.parties) - self.n_patches not in (0, 1):
            raise DataError(
                f"parties must be {self.n_patches}, one for each patch of {self.n_patch_rows} x "
                f"{self.n_patch_columns}, or one more that holds the labels; got {len(self.parties)}"
            )

    @property
    def n_patches(self) -> int:
        return self.n_patch_rows * self.n_patch_columns


def split_images(
    images: ImageSet,
    partition: ByPatches,
    *,
    labels_at: str | None,
    test_share: float = 0.0,
    stratified: bool = False,
    rng: np.random.Generator,
) -> tuple[Party, ...]:
    """The parties with the same images, each with its own patch of them."""
    parties = partition.parties
    check_labels_at(parties, labels_at, has_labels=images.labels is not None)
    if len(parties) > partition.n_patches and labels_at is None:
        raise DataError(f"parties must be {partition.n_patches} for images without labels; got {len(parties)}")
    train, test = split_holdout(
        np.arange(images.n_rows), test_share, rng=rng, classes=stratification(images, stratified)
    )
    whole_train, whole_test = images.rows(train), images.rows(test)
    names = np.array(images.columns, dtype=object).reshape(images.pixels.shape[1:])
    regions = _regions(images.pixels.shape[1:3], (partition.n_patch_rows, partition.n_patch_columns))
    has_own_party = len(parties) > partition.n_patches
    made = []
    for party in parties:
        is_active = party == labels_at
        region = (slice(0), slice(0)) if is_active and has_own_party else next(regions)
        made.append(
            Party(
                name=party,
                role=Role.ACTIVE if is_active else Role.PASSIVE,
                columns=tuple(names[region].ravel()),
                train=_patch(whole_train, region, is_active),
                test=_patch(whole_test, region, is_active) if len(test) else None,
            )
        )
    return tuple(made)


def _regions(image: tuple[int, ...], grid: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    (height, width), (n_rows, n_columns) = image, grid
    if n_rows > height or n_columns > width:
        raise DataError(
            f"a grid must have a pixel for each patch; got {n_rows} x {n_columns} patches of {height} x {width} pixels"
        )
    tops = np.linspace(0, height, n_rows + 1).astype(int)
    lefts = np.linspace(0, width, n_columns + 1).astype(int)
    return (
        (slice(tops[i], tops[i + 1]), slice(lefts[j], lefts[j + 1])) for i in range(n_rows) for j in range(n_columns)
    )


def _patch(whole: Slice, region: tuple[slice, slice], with_labels: bool) -> Slice:
    patch = np.ascontiguousarray(whole.features[(slice(None), *region)])
    return Slice(whole.ids, patch, whole.labels if with_labels else None)


@dataclass(frozen=True)
class ByNamedPatches:
    """Which patches of a table of images each party holds, counted in reading order from 1."""

    patches: Mapping[str, tuple[int, ...]] = setting(MISSING, "the patches of each party, by the party's name")
    grid: tuple[int, int] = setting(MISSING, "patches from top to bottom, and from left to right")
    unassigned: UnassignedPolicy = setting("error", "what a patch does that no party holds")

    def __post_init__(self) -> None:
        object.__setattr__(self, "patches", read_only(self.patches))
        held = [number for numbers in self.patches.values() for number in numbers]
        n_patches = self.grid[0] * self.grid[1]
        for number in held:
            if not 1 <= number <= n_patches:
                raise DataError(f"a patch must be from 1 to {n_patches}, counted in reading order; got {number}")
            if held.count(number) > 1:
                raise DataError(f"a patch must belong to one party; got {number} twice")
        left = sorted(set(range(1, n_patches + 1)) - set(held))
        if left and self.unassigned == "error":
            raise DataError(
                f"every patch must belong to a party; no party holds {', '.join(map(str, left))} of {n_patches}. "
                'Give them to a party, or set unassigned = "drop"'
            )

    def assign(self, table: EncodedTable, rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]:
        names = table.source_columns
        columns = {party: tuple(names[i] for i in self._cells(party, table).ravel()) for party in self.patches}
        return ByColumns(columns, "drop").assign(table, rng)

    def shape_of(self, party: str, table: EncodedTable) -> tuple[int, ...]:
        """Height, width and channels of what a party holds, which must be a rectangle, or nothing."""
        cells = self._cells(party, table)
        if cells.ndim == 1 and len(cells):
            raise DataError(f"the patches of {party!r} must make a rectangle; got {list(self.patches[party])}")
        return cells.shape

    def _cells(self, party: str, table: EncodedTable) -> IntArray:
        """Positions of the party's pixels in reading order; (height, width, channels) where they are a rectangle."""
        if table.pixels is None:
            raise DataError(
                f'only whole images can be cut into patches, bytes in an .npz file or "sklearn:digits"; '
                f"got {table.source}, which is a table"
            )
        shape = table.pixels.shape
        regions = list(_regions(shape[:2], self.grid))
        held = np.zeros(shape[:2], dtype=bool)
        for number in self.patches[party]:
            held[regions[number - 1]] = True
        cells = np.arange(table.pixels.n_cells).reshape(shape)[held]  # (pixels, channels)
        rows, columns = np.nonzero(held)
        box = (int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1) if len(rows) else (0, 0)
        return cells.reshape(*box, shape[2]) if box[0] * box[1] == len(rows) else cells.ravel()
