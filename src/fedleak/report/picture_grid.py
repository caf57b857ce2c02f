"""True pictures, and under them what each attack made of the same ones: a grid for the page, and as one PNG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from fedleak.core.arrays import FloatArray
from fedleak.core.finding import Finding
from fedleak.core.report import Report
from fedleak.report.pictures import MAX_IMAGES, data_uri, displayable, image_rows, png
from fedleak.report.wording import possessive, who

TRUE = "true"
LETTER = 7.0  # pixels of a name, at most
GAP = 2  # pixels of white between pictures
WHITE = 1.0
SMALLEST_SIDE = 64  # of a picture in the PNG: smaller ones are enlarged by whole factors


@dataclass(frozen=True, eq=False)
class PictureGrid:
    title: str
    rows: Mapping[str, FloatArray]  # the true pictures first, then by attack: (images, height, width[, channels])

    @property
    def svg(self) -> Markup:
        return image_rows(self.rows, LETTER * (2 + max(map(len, self.rows))))

    @property
    def pixels(self) -> FloatArray:
        """All of it as one picture."""
        strips = [_strip([_enlarged(displayable(one)) for one in images[:MAX_IMAGES]]) for images in self.rows.values()]
        return _joined(strips, axis=0)

    @property
    def png(self) -> bytes:
        return png(self.pixels)

    @property
    def link(self) -> str:
        return data_uri(self.pixels)


def picture_grids(report: Report) -> tuple[PictureGrid, ...]:
    """Of every adversary, secret and defense of which two attacks or more show the same pictures."""
    groups: dict[object, list[Finding]] = {}
    for finding in report.findings:
        if finding.exhibit is not None and finding.exhibit.true.ndim >= 3:
            groups.setdefault((finding.adversary, finding.mode, finding.secret, finding.defense), []).append(finding)
    return tuple(grid for findings in groups.values() for grid in _grids(findings))


def _grids(findings: list[Finding]) -> Iterator[PictureGrid]:
    """The pictures that all of them show: each shows some of those that it told. An attack that shares none with the
    first stands alone, beside its finding."""
    first, shown = findings[0], {finding.attack: _by_picture(finding) for finding in findings}
    sharing = {attack: pairs for attack, pairs in shown.items() if pairs.keys() & shown[first.attack].keys()}
    common = [key for key in shown[first.attack] if all(key in pairs for pairs in sharing.values())]
    if len(sharing) < 2 or not common:
        return
    rows = {TRUE: np.stack([shown[first.attack][key][0] for key in common])}
    rows |= {attack: np.stack([pairs[key][1] for key in common]) for attack, pairs in sharing.items()}
    under = f", under {first.defense}" if first.defense else ""
    yield PictureGrid(f"{possessive(first.secret)} by {who(first.adversary)}{under}", rows)


def _by_picture(finding: Finding) -> dict[bytes, tuple[FloatArray, FloatArray]]:
    """True and guessed, by the true one's pixels: attacks that name no rows show them in any order."""
    assert finding.exhibit is not None
    pairs = zip(finding.exhibit.true, finding.exhibit.guessed, strict=True)
    return {true.tobytes(): (true, guessed) for true, guessed in pairs}


def _enlarged(picture: FloatArray) -> FloatArray:
    factor = max(1, -(-SMALLEST_SIDE // max(picture.shape[:2])))
    return picture.repeat(factor, axis=0).repeat(factor, axis=1)


def _strip(pictures: list[FloatArray]) -> FloatArray:
    return _joined(pictures, axis=1)


def _joined(pictures: list[FloatArray], axis: int) -> FloatArray:
    """Side by side, or under one another, with white between."""
    shape = list(pictures[0].shape)
    shape[axis] = GAP
    gap = np.full(shape, WHITE)
    return np.concatenate([part for one in pictures for part in (gap, one)][1:], axis=axis)
