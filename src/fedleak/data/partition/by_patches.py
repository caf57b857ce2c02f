"""Images cut into a grid of patches, one for each party: the vertical partition of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass

import numpy as np

from fedleak.core.errors import DataError
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party, Slice, setting
from fedleak.data.images import ImageSet
from fedleak.data.partition.by_columns import check_labels_at
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
    regions = _regions(images.pixels.shape[1], images.pixels.shape[2], partition)
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


def _regions(height: int, width: int, partition: ByPatches) -> Iterator[tuple[slice, slice]]:
    if partition.n_patch_rows > height or partition.n_patch_columns > width:
        raise DataError(
            f"a grid must have a pixel for each patch; got {partition.n_patch_rows} x {partition.n_patch_columns} "
            f"patches of {height} x {width} pixels"
        )
    tops = np.linspace(0, height, partition.n_patch_rows + 1).astype(int)
    lefts = np.linspace(0, width, partition.n_patch_columns + 1).astype(int)
    return (
        (slice(tops[i], tops[i + 1]), slice(lefts[j], lefts[j + 1]))
        for i in range(partition.n_patch_rows)
        for j in range(partition.n_patch_columns)
    )


def _patch(whole: Slice, region: tuple[slice, slice], with_labels: bool) -> Slice:
    patch = np.ascontiguousarray(whole.features[(slice(None), *region)])
    return Slice(whole.ids, patch, whole.labels if with_labels else None)
