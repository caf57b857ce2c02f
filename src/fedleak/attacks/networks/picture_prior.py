"""Pictures in coordinates of about equal size: a cosine transform, weighted by 1/frequency, of opponent colours.

A step of conjugate gradients in these coordinates moves smooth and grey parts first, as natural pictures have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray

OPPONENTS = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])  # grey, red-blue, green-magenta
COLOUR_SIZES = np.array([1.7, 0.5, 0.3])
CONTRAST = 0.25  # deviation of a picture's mean, of the range of its values
PLAIN = 0.3  # deviation of a pixel where all are taken alike


@dataclass(frozen=True)
class PicturePrior:
    """``power`` of the frequency by which sizes fall; 0: all pixels alike. Channels first, as networks take them."""

    shape: tuple[int, int, int]
    power: float

    def pictures(self, coordinates: Any) -> Any:
        """Tensors (pictures, channels, height, width); less the grey that a search starts from."""
        return self._turned(coordinates * self._sizes(coordinates), forward=True)

    def adjoint(self, pictures: Any) -> Any:
        return self._turned(pictures, forward=False) * self._sizes(pictures)

    def _sizes(self, like: Any) -> Any:
        channels, height, width = self.shape
        if not self.power:
            return like.new_tensor(PLAIN)
        frequency = np.hypot(np.arange(height)[:, None], np.arange(width)[None])
        sizes = CONTRAST * np.sqrt(height * width) / (1 + frequency) ** self.power
        colours = COLOUR_SIZES if channels == 3 else np.ones(channels)
        return like.new_tensor(colours[:, None, None] * sizes)

    def _turned(self, value: Any, *, forward: bool) -> Any:
        """Orthonormal, so that its adjoint is its way back."""
        if not self.power:
            return value
        channels, height, width = self.shape
        down, across = (value.new_tensor(cosines(side)) for side in (height, width))
        colours = value.new_tensor(OPPONENTS if channels == 3 else np.eye(channels))
        if forward:
            down, across, colours = down.T, across.T, colours.T
        return ((down @ value @ across.T).movedim(1, -1) @ colours.T).movedim(-1, 1)


def cosines(side: int) -> FloatArray:
    """Rows of the orthonormal cosine transform (DCT-II)."""
    waves = np.cos(np.pi * (np.arange(side)[None] + 0.5) * np.arange(side)[:, None] / side)
    return np.asarray(waves * np.sqrt(np.where(np.arange(side) == 0, 1.0, 2.0) / side)[:, None])
